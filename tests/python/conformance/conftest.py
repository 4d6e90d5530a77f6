from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ..spark_session import open_session


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    session = open_session("conformance")
    yield session
    session.stop()
