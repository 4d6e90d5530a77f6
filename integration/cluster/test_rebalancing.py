"""An executor that is added gets its share of a running query's stores, and state stays exact."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig

from .test_cluster import executors

PARTITIONS, KEYS, ROWS = 4, 100, 50
SETTING = "spark.snapline.state.rebalance.enabled"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", str(PARTITIONS)).config("spark.executor.memory", "512m")
    # A killed executor is followed by another one, however many are killed.
    builder = builder.config("spark.deploy.maxExecutorRetries", "-1")
    session = snapline.configure(builder).getOrCreate()
    yield session
    session.stop()


def places(spark: SparkSession, folder: Path, run: str) -> list[str]:
    """The executor of each partition's store; empty: it has none."""
    jvm: Any = spark._jvm
    state = jvm.org.apache.spark.sql.execution.streaming.state.snapline
    run_id = jvm.java.util.UUID.fromString(str(UUID(run)))
    locations = state.StoreLocations(spark._jsparkSession, f"file:{folder}/state", run_id)
    found = [locations.of(0, partition, "default") for partition in range(PARTITIONS)]
    return [str(each.get()) if each.isDefined() else "" for each in found]


def loads(query: Any) -> list[int]:
    """Of each batch, the stores that it loaded from storage. Spark 4.1 does not tell."""
    found = [progress["stateOperators"] for progress in query.recentProgress]
    return [operators[0]["customMetrics"].get("rocksdbNumLoadedFromDfs", 0) for operators in found if operators]


def wait_for(condition: Callable[[], object], query: Any, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


def counted(spark: SparkSession, folder: Path, how: Callable[[Any], Any]) -> Any:
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
    counts = ticks.selectExpr(f"value % {KEYS} AS key").groupBy("key").count()
    writer = counts.writeStream.outputMode("update").format("noop").trigger(processingTime="200 milliseconds")
    return how(writer.option("checkpointLocation", str(folder)))


def check_counts(spark: SparkSession, folder: Path) -> None:
    """The source has given each key once in every so many rows."""
    batches = 1 + max(int(each.name) for each in (folder / "commits").glob("[0-9]*"))
    rows = batches * ROWS
    found = snapline.read_state(str(folder), session=spark).select("key.key", "value.count").collect()
    assert dict(map(tuple, found)) == {key: len(range(key, rows, KEYS)) for key in range(min(KEYS, rows))}


def start_with_interval(writer: Any) -> Any:
    config = CheckpointConfig(interval=timedelta(seconds=2), upload_changelogs=True)
    return snapline.start(writer, config)


@pytest.mark.parametrize("how", [lambda writer: writer.start(), start_with_interval], ids=["each batch", "interval"])
def test_a_new_executor_gets_its_share(spark: SparkSession, tmp_path: Path, how: Callable[[Any], Any]) -> None:
    folder = tmp_path / "checkpoint"
    query = counted(spark, folder, how)
    try:
        wait_for(lambda: "" not in places(spark, folder, query.runId), query)
        before = places(spark, folder, query.runId)
        os.kill(executors(os.getpid())[0], signal.SIGKILL)

        def has_share() -> bool:
            now = places(spark, folder, query.runId)
            new = set(now) - set(before)
            return len(new) == 1 and now.count(new.pop()) == PARTITIONS // 2

        wait_for(has_share, query)
        reached = query.lastProgress["batchId"]
        wait_for(lambda: query.lastProgress["batchId"] > reached + 5, query)
        # They stay.
        assert has_share()
        # The first batch loads all, the next the stores of the dead executor. The others are loaded ahead.
        lost = len([place for place in before if place not in places(spark, folder, query.runId)])
        assert sum(loads(query)[1:]) <= lost, loads(query)
        assert getattr(query, "restarts", 0) == 0
        if isinstance(query, snapline.SupervisedQuery):
            query.stop_with_savepoint(str(tmp_path / "savepoint"))
    finally:
        query.stop()
    check_counts(spark, folder)


def test_nothing_moves_where_it_is_turned_off(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    spark.conf.set(SETTING, "false")
    try:
        query = counted(spark, folder, lambda writer: writer.start())
        try:
            wait_for(lambda: "" not in places(spark, folder, query.runId), query)
            before = set(places(spark, folder, query.runId))
            os.kill(executors(os.getpid())[0], signal.SIGKILL)
            wait_for(lambda: len(executors(os.getpid())) == 2, query)
            # Tasks whose executor is gone run where there is room; the others stay where they are.
            wait_for(lambda: not before <= set(places(spark, folder, query.runId)), query)
            reached = query.lastProgress["batchId"]
            wait_for(lambda: query.lastProgress["batchId"] > reached + 2, query)
            moved = places(spark, folder, query.runId)
            wait_for(lambda: query.lastProgress["batchId"] > reached + 12, query)
            assert places(spark, folder, query.runId) == moved
        finally:
            query.stop()
    finally:
        spark.conf.unset(SETTING)
