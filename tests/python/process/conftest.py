from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ..spark_session import open_session


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    # A file is a partition.
    session = open_session("operator state", sql_files_maxPartitionBytes="1000000", sql_files_openCostInBytes="1000000")
    yield session
    session.stop()
