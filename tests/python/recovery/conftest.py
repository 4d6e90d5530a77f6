from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ..query.real_query import make_session
from ..spark_jar import need_jar


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    need_jar()
    session = make_session()
    yield session
    session.stop()
