"""Unaligned checkpoints on Spark itself: whatever waits, the output is that of a query in which nothing did."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import (
    CheckpointConfig,
    CheckpointedFunction,
    Context,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListStateDescriptor,
    ProcessFunction,
    key_by,
)
from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.folder.metadata import read_checkpoint
from snapline.folder.unaligned import CUTS, UNALIGNED_MARK, rows_wait
from snapline.savepoint import create_savepoint

from .chains import FILES, UNALIGNED, WITH_INTERVAL, Chain, Chains
from .real_query import wait_for


def test_what_waits_comes_out_as_if_it_had_not(slow: Chains, aligned: list[tuple[object, ...]]) -> None:
    batches = slow.run(UNALIGNED)
    assert max(batch["numChannelRows"] for batch in batches) > 10
    assert max(batch["channelStateBytes"] for batch in batches) > 100
    assert len(batches) > FILES + 1
    assert batches[-1]["numChannelRows"] == 0
    assert slow.rows_out() == aligned


def test_a_checkpoint_says_how_much_is_in_flight(slow: Chains) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), WITH_INTERVAL)
    wait_for(lambda: rows_wait(slow.files))
    taken = read_checkpoint(slow.files, query.trigger_checkpoint())
    (shown,) = (each for each in query.checkpoints()["history"] if each["id"] == taken.id)
    query.processAllAvailable()
    wait_for(lambda: not rows_wait(slow.files))
    none_wait = read_checkpoint(slow.files, query.trigger_checkpoint())
    query.stop()
    assert 0 < taken.in_flight < taken.state_size
    assert shown["persisted_data"] == taken.in_flight
    assert none_wait.in_flight == 0


class Numbers(ProcessFunction, CheckpointedFunction):
    """Numbers the rows of its partition; the next number is operator state."""

    def __init__(self, seconds_a_row: float) -> None:
        self.seconds_a_row = seconds_a_row

    def initialize_state(self, ctx: FunctionInitializationContext) -> None:
        self.state = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("next", "long"))
        self.next = sum(self.state.get()) if ctx.is_restored() else 0
        self.subtask = ctx.get_index_of_this_subtask()

    def process_element(self, row: Any, ctx: Context) -> Iterator[tuple[int, int]]:
        time.sleep(self.seconds_a_row)
        yield self.subtask, self.next
        self.next += 1

    def snapshot_state(self, ctx: FunctionSnapshotContext) -> None:
        self.state.update([self.next])


def test_a_function_whose_first_batch_was_cut_is_restored_in_the_next(slow: Chains) -> None:
    rows = slow.rows("input", "30 seconds")
    numbers = snapline.process(rows, Numbers(slow.seconds_a_row), "subtask int, number long", parallelism=2)
    writer = numbers.writeStream.format("parquet").option("path", str(slow.output_path))
    writer = writer.option("checkpointLocation", str(slow.checkpoint)).trigger(availableNow=True)
    query = snapline.start(writer, UNALIGNED)
    query.awaitTermination()
    assert query.recentProgress[0]["stateOperators"][0]["customMetrics"]["numChannelRows"] > 0
    out = slow.rows_out()
    assert len(out) == rows_in(slow)
    for subtask in range(2):
        found = sorted(int(str(number)) for of, number in out if of == subtask)
        assert found == list(range(len(found)))


def rows_in(chains: Chains) -> int:
    return sum(len(path.read_text().splitlines()) for path in (chains.work / "input").iterdir())


@pytest.mark.whole
def test_a_replay_cuts_batches_where_they_were_cut(slow: Chains, aligned: list[tuple[object, ...]]) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), WITH_INTERVAL)
    query.processAllAvailable()
    wait_for(lambda: not rows_wait(slow.files))
    query.stop()
    assert slow.files.list(CUTS)
    # The only checkpoint is of the first batch: all others are replayed, quickly this time, and would be cut nowhere.
    slow.seconds_a_row = 0
    slow.add_input(FILES, FILES + 1)
    slow.run(WITH_INTERVAL)
    whole = Chains(slow.session, slow.work / "whole", 0)
    for first, last in ((0, FILES), (FILES, FILES + 1)):
        whole.add_input(first, last)
        whole.run(CheckpointConfig())
    assert slow.rows_out() == whole.rows_out()
    assert len(slow.rows_out()) > len(aligned)


@pytest.mark.parametrize(
    "config",
    [UNALIGNED, WITH_INTERVAL, replace(WITH_INTERVAL, upload_changelogs=True)],
    ids=["every batch", "interval", "interval, with changelogs in storage"],
)
def test_after_a_restart_what_waits_needs_no_new_rows(
    slow: Chains, aligned: list[tuple[object, ...]], config: CheckpointConfig
) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), config)
    slow.stop_while_rows_wait(query)
    query = snapline.start(slow.writer(processingTime="0 seconds"), config)
    query.processAllAvailable()
    wait_for(lambda: not rows_wait(slow.files))
    query.stop()
    assert slow.rows_out() == aligned


def test_a_query_that_is_aligned_again_goes_on_like_any_other(slow: Chains) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.stop_while_rows_wait(query)
    # A plain start is refused in the call, whether there are new rows or not.
    for _ in range(2):
        with pytest.raises(Exception, match="rows may wait in its state"):
            slow.writer(availableNow=True).start()
        slow.add_input(FILES, FILES + 1)
    slow.run(CheckpointConfig())
    assert slow.files.exists(UNALIGNED_MARK)
    slow.run(CheckpointConfig())
    assert not slow.files.exists(UNALIGNED_MARK)
    assert not slow.files.exists(CUTS)
    slow.writer(availableNow=True).start().awaitTermination()
    whole = Chains(slow.session, slow.work / "whole", 0)
    for first, last in ((0, FILES), (FILES, FILES + 1)):
        whole.add_input(first, last)
        whole.run(CheckpointConfig())
    assert slow.rows_out() == whole.rows_out()


@pytest.mark.parametrize("config", [UNALIGNED, WITH_INTERVAL], ids=["every batch", "interval"])
def test_a_query_is_drained_before_its_last_savepoint(
    slow: Chains, aligned: list[tuple[object, ...]], tmp_path: Path, config: CheckpointConfig
) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), config)
    slow.wait_until_all_is_read()
    query.stop_with_savepoint(str(tmp_path / "savepoint"))
    assert not rows_wait(slow.files)
    assert slow.rows_out() == aligned
    state = snapline.read_state(str(tmp_path / "savepoint"), state="chain", session=slow.session)
    # What each key's last row of the output says.
    chains = {(row.key.key, row.value.value) for row in state.collect()}
    assert len(chains) == 3
    assert chains <= {(key, chain) for key, _, _, chain, _ in aligned}


def test_a_savepoint_of_rows_that_wait_is_refused_and_nothing_is_written(slow: Chains, tmp_path: Path) -> None:
    query = snapline.start(slow.writer(processingTime="0 seconds"), UNALIGNED)
    slow.stop_while_rows_wait(query)
    with pytest.raises(IncompatibleState, match="rows wait"):
        create_savepoint(slow.session, str(slow.checkpoint), str(tmp_path / "savepoint"))
    assert not (tmp_path / "savepoint").exists()


REFUSED = {
    "an aggregation": (lambda df: df.groupBy("key").count(), "Aggregate"),
    "one behind a function": (
        lambda df: (
            key_by(df, "key")
            .process(Chain(0), "key int, kind string, value long, chain long, w long")
            .groupBy("key")
            .count()
        ),
        "Aggregate",
    ),
    "no state": (lambda df: df.where("value > 1"), "no keyed function"),
    "a watermark that is handed on": (
        lambda df: key_by(df, "key").process(
            Chain(0), "key int, kind string, value long, chain long, w timestamp", output_event_time="w"
        ),
        "output_event_time",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_time_to_stop_is_refused_by_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / "input").mkdir()
    df = spark.readStream.schema("key int, value long, time timestamp").json(str(tmp_path / "input"))
    make, reason = REFUSED[name]
    writer = make(df.withWatermark("time", "1 minute")).writeStream.format("noop").outputMode("update")
    with pytest.raises(InvalidConfiguration, match=reason):
        snapline.start(writer.option("checkpointLocation", str(tmp_path / "checkpoint")), UNALIGNED)
    assert not (tmp_path / "checkpoint").exists()


def test_rows_would_wait_without_batches_that_have_none(spark: SparkSession, slow: Chains) -> None:
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(name, "false")
    try:
        with pytest.raises(InvalidConfiguration, match=name):
            snapline.start(slow.writer(availableNow=True), UNALIGNED)
    finally:
        spark.conf.unset(name)


def test_too_much_that_waits_fails_the_query_if_it_is_told_to(slow: Chains) -> None:
    config = CheckpointConfig(
        unaligned=True,
        aligned_checkpoint_timeout=timedelta(milliseconds=5),
        max_channel_rows=1,
        at_channel_limit="fail",
    )
    query = snapline.start(slow.writer(availableNow=True), config)
    with pytest.raises(Exception, match="SNAPLINE-TOO-LARGE"):
        query.awaitTermination()


def test_or_takes_the_time_for_it(slow: Chains, aligned: list[tuple[object, ...]]) -> None:
    config = CheckpointConfig(
        unaligned=True, aligned_checkpoint_timeout=timedelta(milliseconds=5), max_batches_behind=1
    )
    slow.run(config)
    assert slow.rows_out() == aligned
