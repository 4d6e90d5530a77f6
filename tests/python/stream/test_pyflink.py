"""Inputs and results of PyFlink's own tests of side outputs and of asynchronous calls (flink-python,
pyflink/datastream/tests/test_data_stream.py and test_async_function.py), by their names.

Not here: `test_side_output_chained_with_upstream_operator`, whose upstream operator is a column of Spark's;
`test_side_output_stream_execute_and_collect`, which is about `execute_and_collect`; and
`test_run_async_function_in_thread_mode`, which says that PyFlink refuses it there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from snapline import (
    AsyncFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ReducingStateDescriptor,
)
from snapline.functions.errors import FunctionFailed
from snapline.stream.asynchronous import async_function
from snapline.stream.keyed import KeyedStream
from snapline.testing import BroadcastInput, KeyedCoTestHarness, KeyedTestHarness, ProcessTestHarness

SIDE = OutputTag("side", "v int")
TEXTS = OutputTag("texts", "v string")
LETTERS = [("a", 0), ("b", 1), ("c", 2)]
SUM = ReducingStateDescriptor("reduce", lambda i, j: i + j, "int")
RULES = MapStateDescriptor("dummy", "int", "string")


def values(rows: list[Any]) -> list[Any]:
    return sorted(row[0] for row in rows)


class Split(ProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.k,)
        yield SIDE, (row.v,)
        yield TEXTS, (f"{row.k}{row.v}",)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_process_multiple_side_output(parallelism: int) -> None:
    """And `test_process_side_output`."""
    harness = ProcessTestHarness(
        Split(), schema="k string, v int", output="k string", side_outputs=[SIDE, TEXTS], parallelism=parallelism
    )
    assert values(harness.process_batch(LETTERS)) == ["a", "b", "c"]
    assert values(harness.side_output(SIDE)) == [0, 1, 2]
    assert values(harness.side_output(TEXTS)) == ["a0", "b1", "c2"]


class SplitBoth(BroadcastProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.k,)
        yield SIDE, (row.v,)

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.text,)
        yield SIDE, (row.number,)


def test_co_broadcast_side_output() -> None:
    """Each of the two partitions gets the broadcast rows."""
    harness = ProcessTestHarness(
        SplitBoth(),
        schema="k string, v int",
        output="k string",
        side_outputs=[SIDE],
        parallelism=2,
        broadcast=BroadcastInput.of("number int, text string", RULES),
    )
    found = harness.process_batch(LETTERS, broadcast=[(3, "d"), (4, "f")])
    assert values(found) == ["a", "b", "c", "d", "d", "f", "f"]
    assert values(harness.side_output(SIDE)) == [0, 1, 2, 3, 3, 4, 4]


class Reduced(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_reducing_state(SUM)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.v,)
        self.sum.add(row.v)
        yield SIDE, (self.sum.get(),)


def test_keyed_process_side_output() -> None:
    harness = KeyedTestHarness(Reduced(), key="k", schema="k string, v int", output="v int", side_outputs=[SIDE])
    assert values(harness.process_batch([("a", 1), ("b", 2), ("a", 3), ("b", 4)])) == [1, 2, 3, 4]
    assert values(harness.side_output(SIDE)) == [1, 2, 4, 6]


class Counted(KeyedCoProcessFunction):
    def open(self, ctx: Any) -> None:
        self.count = ctx.get_reducing_state(SUM)

    def process_element1(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), row.v
        self.count.add(1)
        yield SIDE, (self.count.get(),)

    process_element2 = process_element1


def test_keyed_co_process_side_output() -> None:
    harness = KeyedCoTestHarness(
        Counted(),
        keys=("k", "k"),
        schemas=("k string, v int", "v int, k string"),
        output="k string, v int",
        side_outputs=[SIDE],
    )
    found = harness.process_batch([("a", 1), ("b", 2), ("a", 3), ("b", 4)], [(8, "a"), (7, "b"), (6, "a"), (5, "b")])
    wanted = [("a", 1), ("a", 3), ("a", 6), ("a", 8), ("b", 2), ("b", 4), ("b", 5), ("b", 7)]
    assert sorted(tuple(row) for row in found) == wanted
    assert values(harness.side_output(SIDE)) == [1, 1, 2, 2, 3, 3, 4, 4]


class ReducedBeside(KeyedBroadcastProcessFunction):
    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_reducing_state(SUM)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.sum.add(row.v)
        yield (row.k,)
        yield SIDE, (self.sum.get(),)

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.text,)
        yield SIDE, (row.number,)


def test_keyed_co_broadcast_side_output() -> None:
    """A harness is one partition: here are two, as in PyFlink's test, and each gets the broadcast rows."""
    found: list[Any] = []
    side: list[Any] = []
    for rows in ([("a", 0), ("a", 2)], [("b", 1), ("b", 3)]):
        harness = KeyedTestHarness(
            ReducedBeside(),
            key="k",
            schema="k string, v int",
            output="k string",
            side_outputs=[SIDE],
            broadcast=BroadcastInput.of("number int, text string", RULES),
        )
        found += harness.process_batch(rows, broadcast=[(5, "c"), (6, "d")])
        side += harness.side_output(SIDE)
    assert values(found) == ["a", "a", "b", "b", "c", "c", "d", "d"]
    assert values(side) == [0, 1, 2, 4, 5, 5, 6, 6]


class Twice(ProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.v,)
        yield SIDE, (row.v * 2,)


def test_side_output_tag_reusing() -> None:
    """The second function gets what the first puts out, times two."""
    first, second = (ProcessTestHarness(Twice(), schema="v int", output="v int", side_outputs=[SIDE]) for _ in range(2))
    out = first.process_batch([(1,), (2,), (3,)])
    second.process_batch([(row.v * 2,) for row in out])
    assert values(first.side_output(SIDE)) == [2, 4, 6]
    assert values(second.side_output(SIDE)) == [4, 8, 12]


def reduced(emit: Any) -> Callable[[KeyedStream], Any]:
    return lambda stream: stream.reduce(lambda x, y: (x.k + y.k, x.v), emit=emit)


def test_reduce_with_state() -> None:
    """Streaming: each row gives the result so far; a batch: each key its last one."""
    rows = [("a", 0), ("c", 1), ("d", 1), ("b", 0), ("e", 1)]
    wanted = {
        "per_element": [("a", 0), ("ab", 0), ("c", 1), ("cd", 1), ("cde", 1)],
        "per_batch": [("ab", 0), ("cde", 1)],
    }
    for emit, results in wanted.items():
        harness = KeyedTestHarness.of_stream(reduced(emit), key="v", schema="k string, v int")
        assert sorted(tuple(row) for row in harness.process_batch(rows)) == results


PAIRS = [(n, n) for n in range(1, 6)]


class Added(AsyncFunction):
    """Takes a hundredth of the time that PyFlink's takes."""

    wait = 0.02

    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(self.wait)
        return [(value.v1 + value.v2,)]

    def timeout(self, value: Any) -> Any:
        return [(value.v1 + value.v2,)]


class Bare(Added):
    async def async_invoke(self, value: Any) -> Any:
        return value.v1 + value.v2


class Raising(Added):
    async def async_invoke(self, value: Any) -> Any:
        raise Exception("encountered an exception")


class Late(Added):
    wait = 10.0

    def timeout(self, value: Any) -> Any:
        return [(value.v1 - value.v2,)]


class LateAndRaising(Late):
    def timeout(self, value: Any) -> Any:
        raise Exception("encountered an exception")


def called(function: AsyncFunction, timeout: int = 5_000, *, ordered: bool = False) -> list[Any]:
    made = async_function(function, timeout=timeout, capacity=2, ordered=ordered, retry=None)
    harness = ProcessTestHarness(made, schema="v1 int, v2 int", output="v int")
    return [row.v for row in harness.process_batch(PAIRS)]


def test_basic_functionality() -> None:
    assert sorted(called(Added())) == [2, 4, 6, 8, 10]


def test_watermark() -> None:
    """A watermark behind each row keeps PyFlink's rows in order. Here none comes within a micro-batch: it is asked for
    with `ordered`."""
    assert called(Added(), ordered=True) == [2, 4, 6, 8, 10]


def test_complete_async_function_with_non_iterable_result() -> None:
    with pytest.raises(FunctionFailed, match=r"async_invoke of Bare.*int"):
        called(Bare())


def test_raise_exception_in_async_invoke() -> None:
    with pytest.raises(FunctionFailed, match="encountered an exception"):
        called(Raising())


def test_raise_exception_in_timeout() -> None:
    with pytest.raises(FunctionFailed, match="encountered an exception"):
        called(LateAndRaising(), timeout=20)


def test_processing_timeout() -> None:
    assert called(Late(), timeout=10) == [0, 0, 0, 0, 0]
