"""State backends and storages of single queries, on Spark itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import (
    CheckpointConfig,
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    FixedDelayRestart,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    StateBackendConfig,
    SupervisedQuery,
)
from snapline.errors import IncompatibleState, InvalidConfiguration, StorageFailure

from .real_query import RealQuery, wait_for
from .test_start import FIRST, INTERVAL, SECOND, FailsOnce, all_files, run, state_files

SNAPLINE = "spark.snapline."
BACKEND = SNAPLINE + "state.backend.type"
STORAGE = SNAPLINE + "execution.checkpointing.storage"
INCREMENTAL = SNAPLINE + "execution.checkpointing.incremental"

OF_SESSION = {
    BACKEND: "rocksdb",
    SNAPLINE + "state.backend.hashmap.async-snapshots": "true",
    SNAPLINE + "state.backend.hashmap.memory-limit": "2g",
    SNAPLINE + "state.backend.rocksdb.memory.fixed-per-executor": "64m",
    SNAPLINE + "state.backend.row-table.memory-fraction": "0.1",
    SNAPLINE + "state.backend.compression": "lz4",
    SNAPLINE + "state.changelog.enabled": "true",
    SNAPLINE + "state.changelog.compression": "lz4",
    SNAPLINE + "max-parallelism": "1000",
    SNAPLINE + "snapshot.threads": "2",
    STORAGE: "filesystem",
    STORAGE + ".max-state-size": "5m",
}
OF_QUERY: dict[str, Any] = {
    "state_backend": StateBackendConfig(
        memory_per_executor="32m",
        row_table_memory_fraction=0.05,
        compression="zstd",
        changelog=False,
        changelog_compression="none",
        max_parallelism=500,
        snapshot_threads=1,
        backend=HashMapStateBackend(async_snapshots=False, memory_limit="1g"),
    ),
    "checkpoint_storage": JobManagerCheckpointStorage("1m"),
}
IN_MEMORY: dict[str, Any] = {
    "state_backend": HashMapStateBackend(),
    "checkpoint_storage": JobManagerCheckpointStorage(),
}


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> RealQuery:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, FIRST)
    return query


@contextmanager
def session_with(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def settings_of(running: SupervisedQuery, names: Mapping[str, str]) -> dict[str, str]:
    """That Spark's query has taken."""
    conf = running._query._jsq.streamingQuery().sparkSessionForStream().conf()
    return {name: str(conf.get(name)) for name in names}


def test_every_setting_of_a_query_wins_over_the_sessions(spark: SparkSession, query: RealQuery) -> None:
    wanted = {**OF_QUERY["state_backend"].to_conf(), **OF_QUERY["checkpoint_storage"].to_conf()}
    assert wanted.keys() == OF_SESSION.keys()
    assert all(wanted[name] != value for name, value in OF_SESSION.items())
    with session_with(spark, OF_SESSION):
        running = run(query, CheckpointConfig(), **OF_QUERY)
        assert settings_of(running, wanted) == wanted
        assert {name: spark.conf.get(name) for name in OF_SESSION} == OF_SESSION
    assert state_files(query, "changelog") == state_files(query, "handle") == []


@pytest.mark.parametrize("own", [True, False, None])
def test_incremental_is_the_checkpoints_where_they_say_it(
    spark: SparkSession, query: RealQuery, own: bool | None
) -> None:
    with session_with(spark, {INCREMENTAL: "true"}):
        config = CheckpointConfig(incremental=own)
        running = run(query, config, state_backend=EmbeddedRocksDBStateBackend(incremental=False))
        wanted = "false" if own is None else str(own).lower()
        assert settings_of(running, {INCREMENTAL: ""}) == {INCREMENTAL: wanted}


def test_files_for_one_query_of_a_session_that_keeps_state_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    storage = FileSystemCheckpointStorage(str(tmp_path / "checkpoints"))
    query = RealQuery(spark, tmp_path)
    query.add_input(0, FIRST)
    query.checkpoint = tmp_path / "checkpoints" / "counts"
    with session_with(spark, {BACKEND: "MemoryStateBackend", "spark.sql.streaming.checkpointLocation": "/nowhere"}):
        writer = query.result().writeStream.format("noop").queryName("counts").trigger(availableNow=True)
        # The classic name says where state is kept, so a storage of its own needs a backend of its own.
        with pytest.raises(InvalidConfiguration, match="MemoryStateBackend"):
            snapline.start(writer, checkpoint_storage=storage)
        running = snapline.start(writer, state_backend=HashMapStateBackend(), checkpoint_storage=storage)
        running.awaitTermination()
    assert state_files(query, "changelog")


def test_state_in_memory_survives_the_query_and_not_the_driver(query: RealQuery) -> None:
    sound = FailsOnce(-1)
    sink = FailsOnce(2)
    running = snapline.start(
        sink.writer(query), CheckpointConfig(), restart=FixedDelayRestart(attempts=2, delay=0.1), **IN_MEMORY
    )
    running.awaitTermination()
    assert (running.restarts, sink.failures, running.exception()) == (1, 1, None)
    other = RealQuery(query.session, query.work / "files")
    other.add_input(0, FIRST)
    sound.writer(other).start().awaitTermination()
    assert sink.rows == sound.rows
    assert running.checkpoints()["counts"]["total"] == 0
    assert state_files(query, "changelog") == state_files(query, "handle") == []


def test_no_checkpoint_is_taken_of_state_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    counts = ticks.selectExpr("value % 3 AS key").groupBy("key").count()
    writer = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="100 milliseconds")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(InvalidConfiguration, match="leave the interval out"):
        snapline.start(writer, INTERVAL, **IN_MEMORY)
    assert not all_files(tmp_path)
    running = snapline.start(writer, CheckpointConfig(), **IN_MEMORY)
    try:
        wait_for(lambda: running.lastProgress is not None)
        with pytest.raises(StorageFailure, match="the driver's memory"):
            running.trigger_checkpoint(timeout=10)
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("config", "was"),
    [
        (CheckpointConfig(), HashMapStateBackend()),
        (INTERVAL, EmbeddedRocksDBStateBackend()),
        (replace(INTERVAL, file_merging=True), HashMapStateBackend()),
    ],
)
def test_another_backend_is_refused_before_anything_is_written(
    query: RealQuery, config: CheckpointConfig, was: HashMapStateBackend | EmbeddedRocksDBStateBackend
) -> None:
    run(query, config, state_backend=was)
    query.add_input(FIRST, SECOND)
    before = all_files(query.work)
    now = HashMapStateBackend() if isinstance(was, EmbeddedRocksDBStateBackend) else EmbeddedRocksDBStateBackend()
    with pytest.raises(IncompatibleState, match=f"backend = {was.to_conf()[BACKEND]}.*set {BACKEND} back to"):
        run(query, config, state_backend=now)
    if not config.takes_checkpoints:
        with pytest.raises(IncompatibleState, match=f"set {STORAGE} back to filesystem"):
            run(query, config, **IN_MEMORY)
    assert all_files(query.work) == before
    run(query, config, state_backend=was)
    assert max(query.batches("commits")) >= SECOND - 1


@pytest.mark.parametrize(
    "config", [CheckpointConfig(), replace(INTERVAL, file_merging=True)], ids=["hashmap", "merged"]
)
def test_a_function_of_another_query_reads_the_state(query: RealQuery, config: CheckpointConfig) -> None:
    running = snapline.start(FailsOnce(-1).writer(query), config, state_backend=HashMapStateBackend())
    running.awaitTermination()

    # Of which there is a checkpoint: the query has come to its end.
    batch_id = max(query.batches("commits"))

    def rows_of(session: SparkSession) -> int:
        return session.read.format("statestore").option("batchId", batch_id).load(str(query.checkpoint)).count()

    found: list[int] = []
    other = RealQuery(query.session, query.work / "other")
    other.add_input(0, 1)

    def look(rows: DataFrame, batch: int) -> None:
        rows.collect()
        found.append(rows_of(rows.sparkSession))

    writer = other.result().writeStream.foreachBatch(look)
    writer.option("checkpointLocation", str(other.checkpoint)).trigger(availableNow=True).start().awaitTermination()
    assert found
    assert set(found) == {rows_of(query.session)}
