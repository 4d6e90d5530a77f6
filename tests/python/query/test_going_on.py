"""`snapline.start` on Spark itself: queries that fail, and go on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline.errors import StateNotFound
from snapline.inspect import CheckpointFolder, Restart, verify
from snapline.query import CheckpointConfig, SupervisedQuery

from .real_query import START, RealQuery, take_all_and_stop

SELDOM = CheckpointConfig(interval=timedelta(hours=1))


def run(query: RealQuery, config: CheckpointConfig = SELDOM) -> SupervisedQuery:
    """Takes in all that is there."""
    writer = query.result().writeStream.format("parquet").option("checkpointLocation", str(query.checkpoint))
    running = snapline.start(writer, config, path=str(query.work / "output"))
    take_all_and_stop(running)
    return running


@pytest.fixture
def short_logs(spark: SparkSession) -> Iterator[None]:
    """Spark's 100 batches would take long."""
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "2")
    yield
    spark.conf.unset("spark.sql.streaming.minBatchesToRetain")


def test_an_interval_begins_with_what_every_batch_has_made_durable(
    spark: SparkSession, tmp_path: Path, short_logs: None
) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 6)
    query.go_on()
    assert min(query.batches("offsets")) > 0
    query.add_input(6, 9)
    newest = max(query.batches("commits"))

    def dies(batch: DataFrame, number: int) -> None:
        raise OSError("before the first checkpoint")

    def start_into(sink: Callable[[DataFrame, int], None]) -> SupervisedQuery:
        writer = query.result().writeStream.foreachBatch(sink).trigger(availableNow=True)
        return snapline.start(writer.option("checkpointLocation", str(query.checkpoint)), SELDOM)

    with pytest.raises(StreamingQueryException, match="before the first checkpoint"):
        start_into(dies).awaitTermination()
    rows: list[tuple[object, ...]] = []
    start_into(lambda batch, _: rows.extend(map(tuple, batch.collect()))).awaitTermination()
    assert max(query.batches("commits")) == newest + 4
    whole = RealQuery(spark, tmp_path / "whole")
    whole.add_input(0, 9)
    whole.go_on()
    assert len(query.output()) + len(rows) == len(whole.output())


def test_a_run_that_ends_by_itself_leaves_nothing_to_replay(spark: SparkSession, tmp_path: Path) -> None:
    query, whole = RealQuery(spark, tmp_path), RealQuery(spark, tmp_path / "whole")
    for first in (0, 3):
        for each in (query, whole):
            each.add_input(first, first + 3)
        writer = query.result().writeStream.format("parquet").option("checkpointLocation", str(query.checkpoint))
        ended = snapline.start(writer.trigger(availableNow=True), SELDOM, path=str(tmp_path / "output"))
        ended.awaitTermination()
        whole.go_on()
        counts = ended.checkpoints()["counts"]
        assert (counts["completed"], counts["failed"]) == (2, 0)
        newest = max(query.batches("commits"))
        found = verify(CheckpointFolder(query.checkpoint))
        assert (found.findings, found.restart) == ((), Restart(checkpoint=first // 3 * 2 + 2, batch=newest, lag=0))
    assert query.output() == whole.output()
    assert query.state(newest) == whole.state(newest)


def test_while_nothing_arrives_a_checkpoint_is_taken_at_once(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    writer = query.result().writeStream.format("noop").option("checkpointLocation", str(query.checkpoint))
    running = snapline.start(writer, SELDOM)
    running.processAllAvailable()
    assert running.trigger_checkpoint() == 2
    running.stop()
    newest = max(query.batches("commits"))
    assert verify(CheckpointFolder(query.checkpoint)).restart == Restart(checkpoint=2, batch=newest, lag=0)


def die_before_the_commit(query: RealQuery) -> None:
    """As if it had died between the sink's commit and its own."""
    newest = str(max(query.batches("commits")))
    for name in (newest, f".{newest}.crc"):
        (query.checkpoint / "commits" / name).unlink()


def test_a_batch_that_the_sink_passes_over_is_no_barrier(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    run(query)
    die_before_the_commit(query)
    query.add_input(3, 6)
    again = run(query)
    counts = again.checkpoints()["counts"]
    assert counts["completed"] > 0
    assert counts["failed"] == counts["in_progress"] == 0


@pytest.fixture(params=["1", "2"])
def checkpoint_format(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Every batch has rows, and moves the watermark."""
    settings = {
        "spark.sql.streaming.stateStore.checkpointFormatVersion": request.param,
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


@pytest.mark.parametrize("config", [SELDOM, CheckpointConfig()], ids=["interval", "every batch"])
def test_a_batch_that_the_sink_has_already_ends_as_if_nothing_had_been(
    spark: SparkSession, tmp_path: Path, checkpoint_format: None, config: CheckpointConfig
) -> None:
    """Spark lets its watermark come a batch late, and does not start at all in checkpoint format 2."""
    query, whole = RealQuery(spark, tmp_path), RealQuery(spark, tmp_path / "whole")
    for each in (whole, query):
        each.add_input(0, 3)
        run(each, config)
        if each is query:
            die_before_the_commit(each)
        each.add_input(3, 6)
        run(each, config)
    watermarks = [
        [json.loads(entry.split(b"\n")[1])["nextBatchWatermarkMs"] for entry in each.log("commits").values()]
        for each in (query, whole)
    ]
    assert watermarks[0] == watermarks[1]
    assert query.output() == whole.output()
    for each in (query, whole):
        run(each, CheckpointConfig())
    newest = max(query.batches("commits"))
    assert query.state(newest) == whole.state(newest)


def test_a_checkpoint_that_does_not_load_is_set_aside_and_all_is_replayed(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    run(query)
    handle = next((query.checkpoint / "state" / "0" / "0").glob("*.handle"))
    handle.write_bytes(handle.read_bytes()[:99])
    query.add_input(3, 6)
    run(query)
    assert (query.checkpoint / "snapline" / "chk-1" / "_metadata.damaged").exists()
    whole = RealQuery(spark, tmp_path / "whole")
    for first in (0, 3):
        whole.add_input(first, first + 3)
        whole.go_on()
    assert query.output() == whole.output()


def test_a_checksum_beside_no_entry_does_not_block_the_start(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 2)
    run(query)
    for log in ("offsets", "commits"):
        (query.checkpoint / log / f".{max(query.batches(log)) + 1}.crc").write_bytes(b"crc\0\0\0\2\0")
    query.add_input(2, 4)
    newest = max(query.batches("commits"))
    run(query)
    assert max(query.batches("commits")) > newest


def test_half_of_the_first_entry_does_not_block_the_start(spark: SparkSession, tmp_path: Path) -> None:
    """Spark starts a new query only where its logs are empty, hidden files included."""
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 2)
    for log in ("offsets", "commits"):
        (query.checkpoint / log).mkdir(parents=True)
        (query.checkpoint / log / ".0.15e83ba4-63ff-4857-8bfa-44d5b5579c11.tmp").write_bytes(b"v1\n")
    run(query, CheckpointConfig())
    assert query.batches("commits")


def test_a_store_that_is_opened_anew_needs_no_checkpoint_that_is_gone(spark: SparkSession, tmp_path: Path) -> None:
    """As on an executor that comes late: the checkpoint the run went on from may be subsumed by then."""
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    run(query)
    begun_with = query.checkpoint / "snapline" / "chk-1" / "_metadata"
    assert begun_with.exists()
    query.add_input(3, 9)
    third = max(query.batches("commits")) + 3

    def sink(batch: DataFrame, number: int) -> None:
        batch.collect()
        if number == third:
            deadline = time.monotonic() + 180
            while begun_with.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            assert not begun_with.exists()
            stores = getattr(spark._jvm, "org.apache.spark.sql.execution.streaming.state.StateStore$")
            getattr(stores, "MODULE$").unloadAll()

    writer = query.result().writeStream.foreachBatch(sink).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(query.checkpoint))
    snapline.start(writer, CheckpointConfig()).awaitTermination()
    assert max(query.batches("commits")) > third


def test_a_replay_whose_input_is_gone_says_so_and_goes_on_when_it_is_back(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    run(query)
    newest = query.batches("commits")[-1]
    lost = tmp_path / "input" / "001.json"
    content = lost.read_bytes()
    lost.unlink()
    query.add_input(3, 4)
    with pytest.raises(StateNotFound, match=r"batch 1 .*input/001\.json"):
        run(query)
    lost.write_bytes(content)
    os.utime(lost, (START + 1, START + 1))
    run(query, CheckpointConfig())
    assert query.batches("commits")[-1] > newest
    lived = RealQuery(spark, tmp_path / "lived")
    lived.add_input(0, 3)
    lived.go_on()
    lived.add_input(3, 4)
    lived.go_on()
    assert query.output() == lived.output()
    assert query.state(query.batches("commits")[-1]) == lived.state(lived.batches("commits")[-1])


def test_forced_a_replay_passes_over_input_that_is_gone(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    run(query)
    (tmp_path / "input" / "001.json").unlink()
    run(query, CheckpointConfig(interval=timedelta(hours=1), forced=True))
    assert any("input/001.json" in record.message for record in caplog.records if record.levelname == "WARNING")
