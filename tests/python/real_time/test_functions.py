"""Everything that a keyed function may have beside rows and state, in Spark's real-time mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig, OutputTag
from snapline.savepoint import create_savepoint, read_state, rescale_checkpoint
from snapline.window import TumblingEventTimeWindows

from .rows import SCHEMA, Count, Rows, Writing, wait_for

ODD = OutputTag("odd", "k string, v long")


def out(rows: Rows) -> list[tuple[Any, ...]]:
    """The rows in the sink, of micro-batches that have ended."""
    return sorted(tuple(row) for row in rows.spark.table("out").collect())


def test_windows_fire_at_the_ends_of_batches(rows: Rows) -> None:
    times = rows.df.selectExpr("k", "v", "timestamp_seconds(v) AS at").withWatermark("at", "0 seconds")
    sums = snapline.key_by(times, "k").window(TumblingEventTimeWindows.of(timedelta(seconds=10))).sum("v")
    query = snapline.start(rows.writer(sums, "1 second"))
    try:
        rows.add(("a", 1), ("a", 3), ("b", 5))
        wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 3, "end of the micro-batch")
        assert out(rows) == []
        rows.add(("c", 25))
        wait_for(lambda: len(out(rows)) == 2, "firing")
        assert [row[:2] for row in out(rows)] == [("a", 4), ("b", 5)]
    finally:
        query.stop()


class Split(snapline.KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int]]:
        if row.v % 2:
            ctx.output(ODD, (row.k, row.v))
        else:
            yield row.k, row.v


def test_a_side_output(rows: Rows) -> None:
    split = snapline.key_by(rows.df, "k").process(Split(), SCHEMA, side_outputs=[ODD])
    query = snapline.start(rows.writer(snapline.side_output(split, ODD), "2 seconds"))
    try:
        rows.add(("a", 1), ("a", 2), ("b", 3))
        wait_for(lambda: len(out(rows)) == 2, "rows")
        assert out(rows) == [("a", 1), ("b", 3)]
    finally:
        query.stop()


class Both(snapline.KeyedCoProcessFunction):
    """The sum of all rows of a key, with the side that a row came from."""

    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_state(snapline.ValueStateDescriptor("sum", "long"))

    def process_element1(self, row: Any, ctx: Any) -> Iterator[tuple[str, str, int]]:
        yield from self.add("left", row)

    def process_element2(self, row: Any, ctx: Any) -> Iterator[tuple[str, str, int]]:
        yield from self.add("right", row)

    def add(self, side: str, row: Any) -> Iterator[tuple[str, str, int]]:
        total = (self.sum.value() or 0) + row.v
        self.sum.update(total)
        yield row.k, side, total


def test_two_inputs(rows: Rows, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Rows(spark, tmp_path / "other")
    both = snapline.key_by(rows.df, "k").connect(snapline.key_by(other.df, "k"))
    query = snapline.start(rows.writer(both.process(Both(), "k string, side string, n long"), "2 seconds"))
    try:
        rows.add(("a", 1))
        wait_for(lambda: len(out(rows)) == 1, "row of the first input")
        other.add(("a", 10))
        wait_for(lambda: len(out(rows)) == 2, "row of the second input")
        assert out(rows) == [("a", "left", 1), ("a", "right", 11)]
    finally:
        query.stop()


class Asking(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

    async def process_element(self, row: Any, ctx: Any) -> AsyncIterator[tuple[str, int]]:
        n = (self.n.value() or 0) + 1
        await asyncio.sleep(row.v / 1000)
        self.n.update(n)
        yield row.k, n


def test_asynchronous_calls(rows: Rows) -> None:
    """Rows of a key stay in order, however long a call takes."""
    query = snapline.start(rows.writer(snapline.key_by(rows.df, "k").process(Asking(), SCHEMA), "2 seconds"))
    try:
        rows.add(("a", 50), ("b", 1), ("a", 1), ("b", 20))
        wait_for(lambda: len(out(rows)) == 4, "rows")
        assert out(rows) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    finally:
        query.stop()


def counts(spark: SparkSession, location: Path) -> dict[str, int]:
    state = read_state(str(location), session=spark)
    return {row.k: row.n for row in state.select("key.k", "value.*").toDF("k", "n").collect()}


@pytest.mark.parametrize("stops", [False, True], ids=["while it runs", "and it stops"])
def test_a_savepoint_is_of_a_batch_that_has_ended(rows: Rows, spark: SparkSession, stops: bool) -> None:
    query = rows.start(Count(rows.seen), "3 seconds")
    try:
        rows.add(("a", 0), ("a", 0), ("b", 0))
        rows.wait_for_lines(3)
        target = rows.folder / "savepoint"
        if stops:
            query.stop_with_savepoint(str(target))
            assert not query.isActive
        else:
            wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 3, "end of the micro-batch")
            query.savepoint(str(target))
            assert query.isActive
        assert counts(spark, target) == {"a": 2, "b": 1}
    finally:
        query.stop()


def test_checkpoints_at_an_interval(rows: Rows, spark: SparkSession) -> None:
    """One that is asked for in the middle of a micro-batch is of the one before it."""
    query = rows.start(Count(rows.seen), "3 seconds", config=CheckpointConfig(interval=timedelta(hours=1)))
    try:
        rows.add(("a", 0))
        wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 1, "end of the micro-batch")
        rows.add(("a", 0), ("b", 0))
        wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 3, "end of the micro-batch")
        number = query.trigger_checkpoint()
        assert number in [each["id"] for each in query.checkpoints()["history"]]
        query.savepoint(str(rows.folder / "savepoint"))
        assert counts(spark, rows.folder / "savepoint") == {"a": 2, "b": 1}
        rows.add(("b", 0))
        query.stop_with_savepoint(str(rows.folder / "last"))
        assert counts(spark, rows.folder / "last") == {"a": 2, "b": 2}
    finally:
        query.stop()


def test_another_parallelism(rows: Rows, spark: SparkSession) -> None:
    query = rows.start(Count(rows.seen), "2 seconds")
    rows.add(("a", 0), ("b", 0), ("c", 0))
    wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 3, "end of the micro-batch")
    query.stop()
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    rescale_checkpoint(spark, str(rows.folder / "checkpoint"), str(rows.folder / "wider"), parallelism=3)
    create_savepoint(spark, str(rows.folder / "wider"), str(rows.folder / "savepoint"))
    assert counts(spark, rows.folder / "savepoint") == {"a": 1, "b": 1, "c": 1}
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        writer = rows.writer(snapline.key_by(rows.df, "k").process(Count(rows.seen), SCHEMA), "2 seconds", "console")
        query = snapline.start(writer.option("checkpointLocation", str(rows.folder / "wider")))
        rows.add(("a", 0), ("b", 0), ("c", 0))
        assert {"a 2", "b 2", "c 2"} <= set(rows.wait_for_lines(6))
    finally:
        query.stop()
        spark.conf.set("spark.sql.shuffle.partitions", before)


class Tell(Writing, snapline.KeyedProcessFunction):
    """Writes down the key, one minute after its row in event time."""

    def process_element(self, row: Any, ctx: Any) -> tuple[()]:
        ctx.timer_service().register_event_time_timer(row.at + timedelta(minutes=1))
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int]]:
        self.write(ctx.get_current_key())
        yield ctx.get_current_key(), timestamp


def test_a_drained_query_has_fired_its_timers(rows: Rows) -> None:
    times = rows.df.selectExpr("k", "timestamp_seconds(v) AS at").withWatermark("at", "0 seconds")
    query = snapline.start(
        rows.writer(snapline.key_by(times, "k").process(Tell(rows.seen), SCHEMA), "2 seconds", "console")
    )
    rows.add(("a", 1), ("b", 25))
    wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 2, "end of the micro-batch")
    query.stop_with_savepoint(str(rows.folder / "savepoint"), drain=True)
    assert sorted(rows.lines()) == ["a", "b"]
