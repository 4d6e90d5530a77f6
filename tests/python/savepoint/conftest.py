from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline.errors import InvalidConfiguration
from snapline.jar import checked_jar


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    try:
        checked_jar()
    except InvalidConfiguration as e:
        pytest.skip(str(e))
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
    yield session
    session.stop()
