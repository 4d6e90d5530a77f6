"""The session of these tests."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import snapline


def make_session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("savepoints")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
