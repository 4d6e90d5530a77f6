from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ..query.real_query import make_session
from ..spark_jar import need_jar


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    need_jar()
    session = make_session("savepoints", changelogs=2)
    yield session
    session.stop()


@pytest.fixture
def savepoint(made: Path, tmp_path: Path) -> Path:
    """A copy of what the module has ``made``, to be harmed: a savepoint may be moved."""
    return Path(shutil.copytree(made / "savepoint", tmp_path / "savepoint"))
