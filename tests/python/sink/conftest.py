from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ..spark_jar import need_jar
from ..spark_session import open_session


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    need_jar()
    session = open_session("sinks")
    yield session
    session.stop()
