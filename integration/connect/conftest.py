from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import snapline


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A client of a server that pyspark starts in this process."""
    pytest.importorskip("grpc", reason="pip install -r integration/connect/requirements.txt")
    # Functions of foreachBatch run beside the server, by this and no setting.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
    session = snapline.configure(builder).getOrCreate()
    yield session
    session.stop()
