"""Functions that list their timers, get all rows of a key as a list, and remove states of an earlier version."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline
from snapline import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedCoTestHarness, KeyedTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS = "k string, n long"


class Listed(KeyedProcessFunction):
    """Sets a timer for each row, takes back the one before the last, and lists what there is."""

    lists_timers = True

    def process_element(self, row: Any, ctx: Any) -> Any:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(row.n)
        timers.delete_processing_time_timer(row.n - 2)
        yield row.k, timers.list_timers("processing"), timers.list_timers()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield f"{ctx.get_current_key()} {timestamp}", ctx.timer_service().list_timers("processing"), []


LISTED = "k string, processing array<long>, event array<long>"


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(chunk_rows=1, max_keys=1, max_prefetch=1)])
def test_timers_are_listed_until_they_fire(bounds: Bounds) -> None:
    with KeyedTestHarness(Listed(), key="k", schema=ROWS, output=LISTED, bounds=bounds) as harness:
        rows = [("a", 10), ("a", 11), ("b", 50), ("a", 12)]
        assert harness.process_batch(rows)[-1] == ("a", [11, 12], []) or bounds != Bounds()
        assert harness.process_batch([("a", 30)]) == [("a", [11, 12, 30], [])]
        assert harness.advance_processing_time(12) == [("a 11", [12, 30], []), ("a 12", [30], [])]
        assert harness.advance_processing_time(99) == [("a 30", [], []), ("b 50", [], [])]
        assert harness.num_keys("__timers") == 0


class ListedFirst(Listed):
    def process_initial_state(self, row: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(row.n)


class ListedOfBoth(KeyedCoProcessFunction):
    lists_timers = True

    def process_element1(self, row: Any, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(row.n)
        yield row.k, ctx.timer_service().list_timers("processing"), []

    process_element2 = process_element1


def test_timers_of_an_initial_state_and_of_two_inputs_are_listed_too() -> None:
    with KeyedTestHarness(ListedFirst(), key="k", schema=ROWS, output=LISTED) as harness:
        harness.process_initial_state([("a", 40)], schema=ROWS)
        assert harness.process_batch([("a", 30)]) == [("a", [30, 40], [])]
    with KeyedCoTestHarness(ListedOfBoth(), keys=("k", "k"), schemas=(ROWS, ROWS), output=LISTED) as both:
        assert both.process_batch([("a", 2)], [("a", 1)]) == [("a", [2], []), ("a", [1, 2], [])]


def test_no_list_without_saying_so() -> None:
    class Silent(Listed):
        lists_timers = False

    class Arrow(KeyedProcessFunction):
        lists_timers = True

        def process_arrow(self, batch: Any, state: Any) -> Any: ...

    silent = KeyedTestHarness(Silent(), key="k", schema=ROWS, output=LISTED)
    with silent, pytest.raises(InvalidConfiguration, match="set lists_timers = True"):
        silent.process_batch([("a", 1)])
    with pytest.raises(InvalidConfiguration, match="overrides process_arrow, and lists timers"):
        KeyedTestHarness(Arrow(), key="k", schema=ROWS, output=LISTED)


class Ranked(KeyedProcessFunction):
    """All rows of a key in a micro-batch, as a list."""

    batch_type = "rows"

    def open(self, ctx: Any) -> None:
        self.calls = ctx.get_list_state(ListStateDescriptor("calls", "int"))

    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
        self.calls.add(len(batch))
        for rank, row in enumerate(sorted(batch, key=lambda row: row.n)):
            yield row.k, row.n, rank, list(self.calls), ctx.timestamp()


RANKED = "k string, n long, rank int, calls array<int>, latest long"


@pytest.mark.parametrize("chunk_rows", [1, 3, 10_000])
def test_rows_of_a_key_come_as_one_list_whatever_the_chunks_are(chunk_rows: int) -> None:
    rows = [(f"k{i % 4}", 100 - i) for i in range(22)]
    bounds = Bounds(chunk_rows=chunk_rows)
    with KeyedTestHarness(Ranked(), key="k", schema=ROWS, output=RANKED, bounds=bounds) as harness:
        for batch in (rows[:15], rows[15:]):
            found = harness.process_batch(batch)
            by_key = {key: sorted(n for k, n in batch if k == key) for key in {k for k, _ in batch}}
            assert sorted(row[:3] for row in found) == sorted(
                (key, n, rank) for key, numbers in by_key.items() for rank, n in enumerate(numbers)
            )
        assert {row.k: row.calls for row in found} == {"k0": [4, 2], "k1": [4, 2], "k2": [4, 1], "k3": [3, 2]}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("lists of rows and timers")
    yield session
    session.stop()


class Before(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.old = ctx.get_state(ValueStateDescriptor("old", "long", ttl=StateTtlConfig(timedelta(days=1))))
        self.kept = ctx.get_state(ValueStateDescriptor("kept", "long"))

    def process_element(self, row: Any, ctx: Any) -> Any:
        self.old.update(row.n)
        self.kept.update((self.kept.value() or 0) + row.n)
        yield row.k, self.kept.value(), None


class After(KeyedProcessFunction):
    """A version that has no use for one of the states."""

    batch_type = "rows"
    lists_timers = True

    def open(self, ctx: Any) -> None:
        ctx.delete_if_exists("old")
        ctx.delete_if_exists("never there")
        self.kept = ctx.get_state(ValueStateDescriptor("kept", "long"))

    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
        timers = ctx.timer_service()
        self.kept.update((self.kept.value() or 0) + sum(row.n for row in batch))
        timers.register_processing_time_timer(timers.current_processing_time() + 10**9)
        yield key, self.kept.value(), len(timers.list_timers("processing"))


class Again(Before):
    """The first version: its old state begins empty."""

    def process_element(self, row: Any, ctx: Any) -> Any:
        yield row.k, self.kept.value(), self.old.value()


def test_a_state_of_an_earlier_version_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    found: list[tuple[Any, ...]] = []

    def run(function: KeyedProcessFunction, *rows: tuple[str, int]) -> list[tuple[Any, ...]]:
        spark.createDataFrame(list(rows), ROWS).coalesce(1).write.mode("append").parquet(str(tmp_path / "rows"))
        df = spark.readStream.schema(ROWS).parquet(str(tmp_path / "rows"))
        result = snapline.key_by(df, "k").process(function, "k string, total long, other long")
        writer = result.writeStream.outputMode("update").option("checkpointLocation", checkpoint)
        writer = writer.foreachBatch(lambda batch, _: found.extend(sorted(map(tuple, batch.collect()))))
        writer.trigger(once=True).start().awaitTermination()
        try:
            return list(found)
        finally:
            found.clear()

    assert run(Before(), ("a", 1), ("b", 2)) == [("a", 1, None), ("b", 2, None)]
    assert run(After(), ("a", 2), ("a", 3), ("c", 4)) == [("a", 6, 1), ("c", 4, 1)]
    assert run(After(), ("b", 1), ("c", 1)) == [("b", 3, 1), ("c", 5, 2)]
    assert run(Again(), ("a", 1), ("b", 1)) == [("a", 6, None), ("b", 3, None)]


def test_a_state_cannot_be_deleted_and_asked_for() -> None:
    class Both(Before):
        def open(self, ctx: Any) -> None:
            super().open(ctx)
            ctx.delete_if_exists("old")

    with pytest.raises(InvalidConfiguration, match="deletes state old, and asks for it too"):
        KeyedTestHarness(Both(), key="k", schema=ROWS, output=ROWS)


def test_the_harness_removes_a_state_too() -> None:
    output = "k string, total long, other long"
    with KeyedTestHarness(Before(), key="k", schema=ROWS, output=output) as before:
        before.process_batch([("a", 1)])
        snapshot = before.snapshot()
    with KeyedTestHarness(After(), key="k", schema=ROWS, output=output) as after:
        after.restore(snapshot)
        assert after.num_keys("old") == 1
        assert after.process_batch([("a", 1)]) == [("a", 2, 1)]
        assert after.num_keys("old") == 0
