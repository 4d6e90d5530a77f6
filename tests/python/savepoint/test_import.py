"""Checkpoints of Spark's own state stores: their savepoints are restored on Snapline's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, restore_savepoint

from .queries import StatefulQuery

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STATE = "org.apache.spark.sql.execution.streaming.state"
ROCKSDB = f"{STATE}.RocksDBStateStoreProvider"
HDFS = f"{STATE}.HDFSBackedStateStoreProvider"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("provider", "name"),
    [(HDFS, "aggregation"), (HDFS, "join"), (ROCKSDB, "sessions"), (ROCKSDB, "transform-with-state")],
)
def test_changes_over(spark: SparkSession, tmp_path: Path, provider: str, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    ours = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, provider)
    try:
        query.run("theirs")
    finally:
        spark.conf.set(PROVIDER, str(ours))
    since = 1 + max(int(file.name) for file in (tmp_path / "theirs-output").iterdir())
    before = query.state("theirs")
    assert sum(rows for rows, _ in before.values()) > 0
    metadata = create_savepoint(spark, str(tmp_path / "theirs"), str(tmp_path / "savepoint"))
    assert metadata.provider == provider
    restore_savepoint(spark, str(tmp_path / "savepoint"), str(tmp_path / "ours"), parallelism=3)
    assert query.state("ours") == before
    assert list((tmp_path / "ours/state/0").rglob("*.changelog"))
    settings = json.loads((tmp_path / "ours/offsets" / str(metadata.batch)).read_text().split("\n")[1])["conf"]
    assert settings[PROVIDER] == ours
    query.add_input(range(2, 3))
    query.run("ours")
    query.run("theirs")
    assert query.output("ours") == query.output("theirs", since)
    assert query.state("ours") == query.state("theirs")
