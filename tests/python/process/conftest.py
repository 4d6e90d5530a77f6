from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import snapline


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("operator state")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        # A file is a partition.
        "spark.sql.files.maxPartitionBytes": "1000000",
        "spark.sql.files.openCostInBytes": "1000000",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
