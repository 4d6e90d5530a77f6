"""Inputs and results of PyFlink's own tests of keyed state, rich functions, two inputs and broadcast state
(flink-python, pyflink/datastream/tests/test_data_stream.py), by their names.

Not here: names, slots, chains and partitioning of operators, and types of collections, which are no matter of
Snapline's; functions without a key and without state (`test_basic_operations`, `test_basic_co_operations`,
`test_multi_key_by`), which are columns of Spark's; and `test_co_process_side_output`, which `test_connected.py` has on
Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from snapline import (
    AggregateFunction,
    AggregatingStateDescriptor,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    ProcessFunction,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.testing import BroadcastInput, KeyedCoTestHarness, KeyedTestHarness, ProcessTestHarness

TTL = StateTtlConfig(timedelta(seconds=1))
NUMBERED = [(1, "hi"), (2, "hello"), (3, "hi"), (4, "hello"), (5, "hi"), (6, "hello")]
LETTERS = [("a", 0), ("b", 0), ("c", 1), ("d", 1), ("e", 2)]
PAIRS = "k string, v int"
RULES = MapStateDescriptor("mapping", "int", "string")


def at(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, timezone.utc)


class Remembering(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value_state", "int"))
        self.list = ctx.get_list_state(ListStateDescriptor("list_state", "int"))
        self.map = ctx.get_map_state(MapStateDescriptor("map_state", "int", "string", ttl=TTL))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        found = (ctx.get_current_key(), self.value.value(), list(self.list.get()), dict(self.map.items()))
        self.value.update(row.n)
        self.list.add(row.n)
        self.map.put(row.n, row.k)
        yield found


def test_keyed_process_function_with_state() -> None:
    output = "k string, value int, list array<int>, map map<int, string>"
    with KeyedTestHarness(Remembering(), key="k", schema="n int, k string", output=output) as harness:
        found = [tuple(row) for row in harness.process_batch(NUMBERED)]
    assert found == [
        ("hi", None, [], {}),
        ("hello", None, [], {}),
        ("hi", 1, [1], {1: "hi"}),
        ("hello", 2, [2], {2: "hello"}),
        ("hi", 3, [1, 3], {1: "hi", 3: "hi"}),
        ("hello", 4, [2, 4], {2: "hello", 4: "hello"}),
    ]


class Sum(AggregateFunction[int, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return value + accumulator

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, accumulator1: int, accumulator2: int) -> int:
        return accumulator1 + accumulator2


class Reducing(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_reducing_state(ReducingStateDescriptor("reducing_state", lambda i, j: i + j, "int"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.sum.add(row.n)
        yield self.sum.get(), row.k


class Aggregating(Reducing):
    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_aggregating_state(AggregatingStateDescriptor("aggregating_state", Sum(), "int", ttl=TTL))


@pytest.mark.parametrize("function", [Reducing, Aggregating])
def test_reducing_state(function: type[KeyedProcessFunction]) -> None:
    """And `test_aggregating_state`."""
    with KeyedTestHarness(function(), key="k", schema="n int, k string", output="n int, k string") as harness:
        found = sorted(tuple(row) for row in harness.process_batch(NUMBERED))
    assert found == [(1, "hi"), (2, "hello"), (4, "hi"), (6, "hello"), (9, "hi"), (12, "hello")]


class CountedMap(MapFunction):
    def open(self, ctx: Any) -> None:
        self.state = ctx.get_state(ValueStateDescriptor("test_state", "int"))

    def map(self, value: Any) -> Any:
        if value.k in ("b", "c", "d"):
            count = (self.state.value() or 0) + 1
            assert count == {"b": 1, "c": 1, "d": 2}[value.k]
            self.state.update(count)
        return value


def test_keyed_map() -> None:
    rows = [("a", 0), ("b", 1), ("c", 0), ("d", 1), ("e", 2)]
    with KeyedTestHarness.of_stream(lambda stream: stream.map(CountedMap(), PAIRS), key="v", schema=PAIRS) as harness:
        assert sorted(tuple(row) for row in harness.process_batch(rows)) == rows


class CountedRows:
    """The rows of a key, which come one after the other."""

    def open(self, ctx: Any) -> None:
        self.before: str | None = None
        self.state = ctx.get_state(ValueStateDescriptor("test_state", "int"))

    def see(self, row: Any) -> None:
        count = (self.state.value() or 0) + 1
        if row.k in ("b", "d"):
            assert self.before == {"b": "a", "d": "c"}[row.k]
        assert count == (2 if row.k in ("b", "d") else 1)
        self.before = row.k
        self.state.update(count)


class CountedFlatMap(CountedRows, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        self.see(value)
        yield value


class CountedFilter(CountedRows, FilterFunction):
    def filter(self, value: Any) -> bool:
        self.see(value)
        return value.k not in ("b", "d")


def test_keyed_flat_map() -> None:
    build = lambda stream: stream.flat_map(CountedFlatMap(), PAIRS)  # noqa: E731
    with KeyedTestHarness.of_stream(build, key="v", schema=PAIRS) as harness:
        assert sorted(tuple(row) for row in harness.process_batch(LETTERS)) == LETTERS


def test_keyed_filter() -> None:
    with KeyedTestHarness.of_stream(lambda stream: stream.filter(CountedFilter()), key="v", schema=PAIRS) as harness:
        found = sorted(tuple(row) for row in harness.process_batch(LETTERS))
    assert [row for row in found if row[1] > 0] == [("c", 1), ("e", 2)]


class Before(CoMapFunction):
    def open(self, ctx: Any) -> None:
        self.pre1 = ctx.get_state(ValueStateDescriptor("pre1", "string"))
        self.pre2 = ctx.get_state(ValueStateDescriptor("pre2", "string"))

    def map1(self, value: Any) -> Any:
        return self.after(value, self.pre1)

    def map2(self, value: Any) -> Any:
        return self.after(value, self.pre2)

    def after(self, row: Any, before: Any) -> Any:
        if row.k in ("b", "d"):
            assert before.value() == {"b": "a", "d": "c"}[row.k]
        before.update(row.k)
        return row.k, row.v


def test_keyed_co_map() -> None:
    with KeyedCoTestHarness(Before(), keys=("v", "v"), schemas=(PAIRS, PAIRS), output=PAIRS) as harness:
        assert sorted(tuple(row) for row in harness.process_batch(LETTERS, LETTERS)) == sorted(LETTERS * 2)


class New(CoFlatMapFunction):
    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_map_state(MapStateDescriptor("map", "string", "boolean"))

    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield (str(value.v + 1),)
        yield (str(value.v + 1),)

    def flat_map2(self, value: Any) -> Iterator[Any]:
        if value.v not in self.seen:
            self.seen[value.v] = True
            yield (value.v,)


def test_keyed_co_flat_map() -> None:
    schemas = ("k int, v int", "k int, v string")
    with KeyedCoTestHarness(New(), keys=("k", "k"), schemas=schemas, output="v string") as harness:
        found = harness.process_batch([(1, 1), (1, 2), (1, 3)], [(1, "a"), (1, "b"), (1, "c"), (1, "a")])
    assert sorted(row.v for row in found if row.v != "4") == ["2", "2", "3", "3", "a", "b", "c"]


def rolling(name: str, column: str, key: str, schema: str, rows: list[Any]) -> list[Any]:
    """What a function of a column puts out for each of the rows."""
    build = lambda stream: getattr(stream, name)(column)  # noqa: E731
    with KeyedTestHarness.of_stream(build, key=key, schema=schema) as harness:
        return [tuple(row) for row in harness.process_batch(rows)]


def sums(column: str, key: str, rows: list[Any]) -> list[Any]:
    return rolling("sum", column, key, "v1 long, v2 long", rows)


def test_keyed_sum() -> None:
    once = sums("v2", "v1", [(1, 1), (1, 2), (1, 3), (2, 5), (2, 1)])
    twice = sums("v2", "v1", once)
    # The third sum is of the first column, by the second: both were exchanged.
    thrice = sums("v1", "v2", [(v2, v1) for v1, v2 in twice])
    assert sorted(thrice) == [(1, 1), (5, 1), (5, 2), (15, 1), (16, 2)]


def test_keyed_min_by_and_max() -> None:
    schema = "v1 string, v2 int, v3 int"
    first = rolling("min_by", "v2", "v1", schema, [("a", 3, 0), ("a", 1, 1), ("b", 5, 0), ("b", 3, 1)])
    assert sorted(first) == [("a", 1, 1), ("a", 3, 0), ("b", 3, 1), ("b", 5, 0)]
    greatest = rolling("max", "v2", "v3", schema, first)
    least = rolling("min", "v1", "v3", schema, greatest)
    assert [row[0] for row in least] == ["a", "a", "a", "a"]


class Awaiting:
    """Keeps numbers in the instance until their rule is there."""

    def open(self, ctx: Any) -> None:
        self.waiting: dict[int, list[Any]] = defaultdict(list)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        key, rules = row.n % 2, ctx.get_broadcast_state(RULES)
        if rules.contains(key):
            yield from self.let_go(key, rules.get(key))
            yield (rules.get(key) + str(row.n),)
        else:
            self.waiting[key].append(row.n)

    def process_broadcast_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (f"{row.number}{row.text}",)
        ctx.get_broadcast_state(RULES).put(row.number, row.text)
        yield from self.let_go(row.number, row.text)

    def let_go(self, key: int, text: str) -> Iterator[Any]:
        for number in self.waiting.pop(key, ()):
            yield (f"{text}{number}",)


class Unkeyed(Awaiting, BroadcastProcessFunction):
    pass


class Timed(Awaiting, KeyedBroadcastProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield from super().process_element(row, ctx)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield (f"{ctx.get_current_key()} at {timestamp}",)


def test_co_broadcast_process() -> None:
    """Each of the two partitions gets the broadcast rows."""
    harness = ProcessTestHarness(
        Unkeyed(),
        schema="n int",
        output="text string",
        parallelism=2,
        broadcast=BroadcastInput.of("number int, text string", RULES),
    )
    found = harness.process_batch([(n,) for n in range(1, 6)], broadcast=[(0, "a"), (1, "b")])
    assert sorted(row.text for row in found) == ["0a", "0a", "1b", "1b", "a2", "a4", "b1", "b3", "b5"]


def test_keyed_co_broadcast_process() -> None:
    """One partition, so that each broadcast row comes once."""
    harness = KeyedTestHarness(
        Timed(),
        key="n",
        schema="n int, t timestamp",
        output="text string",
        event_time="t",
        broadcast=BroadcastInput.of("number int, text string", RULES),
    )
    start = 1_603_708_210_000
    rows = [(n, at(start + n * 1_000)) for n in range(1, 5)]
    found = [row.text for row in harness.process_batch(rows, broadcast=[(0, "a"), (1, "b")])]
    assert sorted(found) == ["0a", "1b", "a2", "a4", "b1", "b3"]
    fired = [row.text for row in harness.advance_watermark(at(start + 15_000))]
    assert sorted(fired) == [f"{n} at {start + n * 1_000 + 10_000}" for n in range(1, 5)]


class Stamped(ProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield row.n, ctx.timestamp()


def test_process_function() -> None:
    times = [1_603_708_211_000, 1_603_708_224_000, 1_603_708_226_000, 1_603_708_289_000]
    harness = ProcessTestHarness(Stamped(), schema="n int, t timestamp", output="n int, millis long", event_time="t")
    found = harness.process_batch([(n, at(millis)) for n, millis in enumerate(times, 1)])
    assert [tuple(row) for row in found] == list(enumerate(times, 1))


class Measured(MapFunction):
    def open(self, ctx: Any) -> None:
        metrics = ctx.get_metrics_group()
        self.seen = 0
        self.counter = metrics.counter("my_counter")
        self.meter = metrics.meter("my_meter")
        metrics.gauge("my_gauge", lambda: self.seen)
        self.distribution = metrics.distribution("my_distribution")

    def map(self, value: Any) -> Any:
        self.seen += 1
        self.counter.inc()
        self.meter.mark_event()
        self.distribution.update(value.n)
        assert self.counter.get_count() == self.meter.get_count() == self.seen
        return value.text, len(value.text), value.n


def test_metrics() -> None:
    rows = [("ab", "a", 1), ("bdc", "a", 2), ("cfgs", "a", 3), ("deeefg", "a", 4)]
    build = lambda stream: stream.map(Measured(), "text string, length int, n int")  # noqa: E731
    with KeyedTestHarness.of_stream(build, key="k", schema="text string, k string, n int") as harness:
        found = [tuple(row) for row in harness.process_batch(rows)]
        assert harness.metrics["my_counter"] == 4
    assert found == [("ab", 2, 1), ("bdc", 3, 2), ("cfgs", 4, 3), ("deeefg", 6, 4)]
