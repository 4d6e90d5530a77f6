from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.spark_line import has_real_time_state

from ..spark_jar import need_jar
from ..spark_session import open_session
from .rows import Rows


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """With a core for each task of a query, and some for what a test asks meanwhile."""
    need_jar()
    session = open_session("real time", master="local[8]")
    session.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1000")
    yield session
    session.stop()


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Rows:
    """On a line of Spark that keeps state in real-time mode."""
    if not has_real_time_state():
        pytest.skip("real-time mode keeps state from Spark 4.3 on")
    return Rows(spark, tmp_path)
