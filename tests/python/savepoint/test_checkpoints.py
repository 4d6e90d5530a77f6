"""What a checkpoint folder by itself allows, and what it takes a savepoint for: the table in docs/savepoints.md."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import read_state
from snapline.savepoint.state import find_state

from .queries import StatefulQuery

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def test_a_checkpoint_keeps_its_parallelism(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "dedup")
    for step, partitions in enumerate((2, 5)):
        query.add_input(range(step, step + 1))
        query.run("checkpoint", partitions)
    found = find_state(spark, str(tmp_path / "checkpoint"))
    assert [operator.parallelism for operator in found.operators] == [2]
    assert {int(row.partition) for row in read_state(str(tmp_path / "checkpoint"), session=spark).collect()} == {0, 1}


def test_a_checkpoint_stays_with_the_state_store_it_was_begun_with(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "dedup")
    ours = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, HDFS)
    try:
        query.add_input(range(1))
        query.run("checkpoint")
    finally:
        spark.conf.set(PROVIDER, ours or "")
    query.add_input(range(1, 2))
    query.run("checkpoint")
    files = [path.suffix for path in (tmp_path / "checkpoint/state").rglob("*.*")]
    assert ".delta" in files
    assert ".changelog" not in files


def test_a_checkpoint_does_not_take_another_plan(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "dedup")
    query.add_input(range(1))
    query.run("checkpoint")
    query.add_input(range(1, 2))
    with pytest.raises(Exception, match="OPERATOR"):
        StatefulQuery(spark, tmp_path, "two-operators").run("checkpoint")


@pytest.mark.parametrize("name", ["aggregation", "keyed-function"])
def test_a_checkpoint_is_moved_whole(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    query.run("before")
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    query.add_input(range(2, 3))
    query.run("before")
    expected = query.state("before")
    shutil.rmtree(tmp_path / "before")
    query.run("after")
    assert query.state("after") == expected


def test_spark_does_not_find_the_schemas_of_transform_with_state_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    """It writes whole paths down."""
    query = StatefulQuery(spark, tmp_path, "transform-with-state")
    query.add_input(range(1))
    query.run("before")
    (tmp_path / "before").rename(tmp_path / "after")
    query.add_input(range(1, 2))
    with pytest.raises(Exception, match="_stateSchema"):
        query.run("after")
