"""``async def process_element``: the order of a key's rows, state and time of each, and failures."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import snapline
from snapline import KeyedProcessFunction, ListStateDescriptor, MapStateDescriptor, OutputTag, ValueStateDescriptor
from snapline.errors import InvalidConfiguration
from snapline.functions.errors import FunctionFailed
from snapline.testing import Bounds, KeyedTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS = "k long, wait long, n long"
SEEN = "k long, numbers array<long>, sum long, most int"
ODD = OutputTag("odd", "k long, n long")


class Waits(KeyedProcessFunction):
    """Reads and writes state before it waits, between two waits, and in a call of its own beside them."""

    def open(self, ctx: Any) -> None:
        self.numbers = ctx.get_list_state(ListStateDescriptor("numbers", "long"))
        self.sums = ctx.get_map_state(MapStateDescriptor("sums", "string", "long"))
        self.running = self.most = 0
        ctx.get_metrics_group().gauge("most", lambda: self.most)

    async def process_element(self, row: Any, ctx: Any) -> Any:
        self.running += 1
        self.most = max(self.most, self.running)
        before = list(self.numbers)
        await asyncio.sleep(row.wait / 2000)
        self.numbers.add(row.n)
        await asyncio.gather(self.add(row), asyncio.sleep(row.wait / 2000))
        assert list(self.numbers) == [*before, row.n]
        assert ctx.get_current_key() == row.k
        self.running -= 1
        if row.n % 2:
            yield ODD, (row.k, row.n)
        yield row.k, list(self.numbers), self.sums.get("sum"), self.most

    async def add(self, row: Any) -> None:
        found = self.sums.get("sum") or 0
        await asyncio.sleep(0)
        self.sums["sum"] = found + row.n


row = st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 99))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(row, max_size=15), max_size=3),
    st.sampled_from([1, 3, 100]),
    st.sampled_from([Bounds(), Bounds(chunk_rows=4), Bounds(chunk_rows=2, max_keys=2, max_prefetch=1)]),
)
def test_each_key_sees_its_rows_in_order_whatever_overtakes(batches: Any, capacity: int, bounds: Bounds) -> None:
    function = Waits()
    function.async_capacity = capacity  # type: ignore[misc]
    with KeyedTestHarness(function, key="k", schema=ROWS, output=SEEN, side_outputs=[ODD], bounds=bounds) as harness:
        seen: dict[int, list[int]] = {}
        for batch in batches:
            wanted: dict[int, list[Any]] = {}
            for k, _, n in batch:
                seen.setdefault(k, []).append(n)
                wanted.setdefault(k, []).append((seen[k].copy(), sum(seen[k])))
            found: dict[int, list[Any]] = {}
            for k, numbers, total, most in harness.process_batch(batch):
                found.setdefault(k, []).append((numbers, total))
                assert most <= capacity
            assert found == wanted
        odd = sorted((k, n) for k, numbers in seen.items() for n in numbers if n % 2)
        assert sorted(map(tuple, harness.side_output(ODD))) == odd


def test_other_keys_overtake_and_calls_run_at_once() -> None:
    with KeyedTestHarness(Waits(), key="k", schema=ROWS, output=SEEN, side_outputs=[ODD]) as harness:
        began = time.monotonic()
        found = harness.process_batch([(k, 200 if k == 0 else 100, 2) for k in range(50)])
        took = time.monotonic() - began
    assert found[-1].k == 0
    assert harness.metrics["most"] == 50
    assert took < 50 * 0.1, "one after the other they would take that long at least"


class Timed(KeyedProcessFunction):
    """Gives rows as a list, sets timers, and knows the time of each row."""

    async_timeout = timedelta(seconds=30)

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(ValueStateDescriptor("last", "long"))

    async def process_element(self, row: Any, ctx: Any) -> Any:
        await asyncio.sleep(row.wait / 1000)
        self.last.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(row.at + timedelta(minutes=1))
        return [(row.k, ctx.timestamp() - ctx.timer_service().to_millis(row.at))] * row.wait

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp - self.last.value()

    async def close(self) -> None:
        await asyncio.sleep(0)


NOON = datetime(2024, 3, 1, 12)


def test_times_and_timers() -> None:
    schema = "k long, wait long, at timestamp"
    with KeyedTestHarness(Timed(), key="k", schema=schema, output="k long, off long", event_time="at") as harness:
        rows = [(k, 3 - k, NOON + timedelta(seconds=k)) for k in range(4)]
        assert sorted(harness.process_batch(rows)) == [(0, 0), (0, 0), (0, 0), (1, 0), (1, 0), (2, 0)]
        assert harness.advance_watermark(NOON + timedelta(minutes=2)) == [(k, 60_000) for k in range(4)]


class Begins(Timed):
    """Its ``close`` writes a line when it has run to its end."""

    def __init__(self, closed: Path) -> None:
        self.closed = closed

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        self.last.update(row.last)

    async def close(self) -> None:
        await asyncio.sleep(0)
        with self.closed.open("a") as file:
            file.write("closed\n")


def test_a_function_is_closed_after_its_initial_state_too(tmp_path: Path) -> None:
    function, schema = Begins(tmp_path / "closed"), "k long, wait long, at timestamp"
    with KeyedTestHarness(function, key="k", schema=schema, output="k long, off long", event_time="at") as harness:
        function.closed.unlink()
        harness.process_initial_state([(1, 7)], schema="k long, last long")
        assert len(function.closed.read_text().splitlines()) == 2, "once when it is planned, and once with its rows"
        assert harness.state("last", 1) == 7


class Fails(KeyedProcessFunction):
    async_timeout = timedelta(milliseconds=50)

    async def process_element(self, row: Any, ctx: Any) -> Any:
        try:
            await asyncio.sleep(row.wait / 1000)
        except asyncio.CancelledError:
            ctx.output(ODD, (row.k, row.n))
            raise
        if row.n == 1:
            raise ValueError("no such number")


def test_a_failure_has_key_and_row() -> None:
    with KeyedTestHarness(Fails(), key="k", schema=ROWS, output="k long", side_outputs=[ODD]) as harness:
        with pytest.raises(FunctionFailed, match=r"process_element of Fails raised ValueError: no such .* key 7"):
            harness.process_batch([(7, 0, 1), (8, 40, 0)])
        with pytest.raises(FunctionFailed, match=r"raised TimeoutError: .*key 9, row Row\(k=9, wait=500, n=0\)"):
            harness.process_batch([(9, 500, 0)])


def test_what_cannot_be() -> None:
    class NoCapacity(Fails):
        async_capacity = 0

    class NoTime(Fails):
        async_timeout = timedelta(0)

    class AsyncTimers(Fails):
        async def on_timer(self, timestamp: int, ctx: Any) -> Any: ...  # type: ignore[override]

    for function, found in (
        (NoCapacity(), "async_capacity is 0"),
        (NoTime(), "async_timeout is"),
        (AsyncTimers(), "on_timer is an async function"),
    ):
        with pytest.raises(InvalidConfiguration, match=found):
            KeyedTestHarness(function, key="k", schema=ROWS, output="k long", side_outputs=[ODD])


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("asynchronous keyed functions")
    yield session
    session.stop()


def test_a_query_and_its_failure(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(k % 20, k % 3, k) for k in range(200)], ROWS)
    result = snapline.key_by(rows, "k").order_by("n").process(Waits(), SEEN, side_outputs=[ODD])
    found = [row for row in snapline.main_output(result).collect() if len(row.numbers) == 10]
    assert sorted((row.k, row.numbers) for row in found) == [(k, [*range(k, 200, 20)]) for k in range(20)]
    failing = snapline.key_by(rows, "k").process(Fails(), "k long", side_outputs=[ODD])
    with pytest.raises(PythonException, match="no such number"):
        failing.collect()
