"""Sessions with Snapline, for tests that start Spark."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import snapline


def open_session(name: str, **more: str) -> SparkSession:
    """Two cores and two partitions. `more`: settings, with `_` for `.`; those of Spark without its name."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        **{f"spark.{setting.replace('_', '.')}": value for setting, value in more.items()},
    }
    builder = SparkSession.builder.master("local[2]").appName(name)
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    session = snapline.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
