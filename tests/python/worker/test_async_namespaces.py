"""``async def process_element`` with namespaces: each row keeps its own, whatever goes on while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapline import (
    AggregateFunction,
    AggregatingStateDescriptor,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from snapline.testing import KeyedTestHarness

ROWS = "k long, ns long, wait long, n long"


class Sum(AggregateFunction[int, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator


class Named(KeyedProcessFunction):
    """Sets the namespace of every kind of state, waits, and writes."""

    async_capacity = 2

    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value", "long", namespace="long"))
        self.list = ctx.get_list_state(ListStateDescriptor("list", "long", namespace="long"))
        self.map = ctx.get_map_state(MapStateDescriptor("map", "long", "long", namespace="long"))
        add = ReducingStateDescriptor("reducing", lambda a, b: a + b, "long", namespace="long")
        self.reducing = ctx.get_reducing_state(add)
        sums = AggregatingStateDescriptor("aggregating", Sum(), "long", namespace="long")
        self.aggregating = ctx.get_aggregating_state(sums)

    async def process_element(self, row: Any, ctx: Any) -> Any:
        for state in (self.value, self.list, self.map, self.reducing, self.aggregating):
            state.set_current_namespace(row.ns)
        before = self.value.value() or 0
        await asyncio.sleep(row.wait / 1000)
        self.value.update(before + row.n)
        self.list.add(row.n)
        self.map[row.n] = before
        await asyncio.sleep(0)
        self.reducing.add(row.n)
        self.aggregating.add(row.n)
        yield row.k, self.reducing.get(), self.aggregating.get(), list(self.map)


class InTime(Named):
    """Each call is a task of its own where Python waits for it in one."""

    async_timeout = timedelta(seconds=30)


row = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 9))


@pytest.mark.parametrize("function", [Named(), InTime()])
@settings(deadline=None, max_examples=15)
@given(st.lists(row, max_size=12))
def test_each_row_writes_into_its_namespace(function: Named, rows: Any) -> None:
    written: dict[int, dict[int, list[int]]] = {}
    for k, ns, _, n in rows:
        written.setdefault(k, {}).setdefault(ns, []).append(n)
    output = "k long, reduced long, aggregated long, keys array<long>"
    with KeyedTestHarness(function, key="k", schema=ROWS, output=output) as harness:
        found = harness.process_batch(rows)
        assert all(each.reduced == each.aggregated for each in found)
        for k, of_key in written.items():
            sums = {ns: sum(numbers) for ns, numbers in of_key.items()}
            assert harness.state("list", k) == of_key
            assert [harness.state(name, k) for name in ("value", "reducing", "aggregating")] == [sums] * 3
            assert set(harness.state("map", k)) == {(ns, n) for ns, numbers in of_key.items() for n in numbers}


def test_another_key_goes_on_meanwhile() -> None:
    output = "k long, reduced long, aggregated long, keys array<long>"
    with KeyedTestHarness(Named(), key="k", schema=ROWS, output=output) as harness:
        harness.process_batch([(1, 10, 20, 5), (2, 20, 5, 7)])
        assert [harness.state("value", k) for k in (1, 2)] == [{10: 5}, {20: 7}]


class Gathers(KeyedProcessFunction):
    """Works in several namespaces at once, for one row."""

    def open(self, ctx: Any) -> None:
        self.total = ctx.get_state(ValueStateDescriptor("total", "long", namespace="string"))

    async def process_element(self, row: Any, ctx: Any) -> Any:
        self.total.set_current_namespace("first")
        started = asyncio.create_task(self.add([], row.n))
        self.total.set_current_namespace("own")
        await asyncio.gather(self.add(["a", "b"], row.n), self.add(["c", "b"], row.n * 10))
        self.total.update(row.n)
        await started
        await self.add(["called"], row.n)
        self.total.update(row.n * 100)

    async def add(self, namespaces: Iterable[str], n: int) -> None:
        """In the last of the namespaces, or in that of the caller."""
        for namespace in namespaces:
            self.total.set_current_namespace(namespace)
            await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        self.total.update((self.total.value() or 0) + n)


def test_what_a_row_starts_has_namespaces_of_its_own() -> None:
    with KeyedTestHarness(Gathers(), key="k", schema=ROWS, output="k long") as harness:
        harness.process_batch([(k, 0, 0, k) for k in (1, 2, 3)])
        for k in (1, 2, 3):
            # What is awaited is a part of the coroutine: the namespace that it sets stays.
            wanted = {"first": k, "own": k, "b": 11 * k, "called": 100 * k}
            assert harness.state("total", k) == wanted
