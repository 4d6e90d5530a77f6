"""A call takes what it is given as it is then: state and output are the same wherever a micro-batch is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapline import (
    PICKLED,
    AggregateFunction,
    AggregatingStateDescriptor,
    CheckpointedFunction,
    FunctionFailed,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ReducingStateDescriptor,
    StateTtlConfig,
    UpdateType,
    ValueStateDescriptor,
)
from snapline.testing import Bounds, KeyedTestHarness, ProcessTestHarness

SIDE = OutputTag("side", "n long, all array<long>")
READ = StateTtlConfig(timedelta(days=1), update_type=UpdateType.ON_READ_AND_WRITE)
MIXED = "struct<a:double,b:array<float>,c:map<string,timestamp>,d:decimal(10,2),e:binary>"
SPACE = "timestamp"
AWARE = datetime(2013, 11, 3, 6, 30, tzinfo=timezone.utc)


class Thing:
    """Of a class that only cloudpickle can pickle."""

    def __init__(self, *all: int) -> None:
        self.all = list(all)

    def __repr__(self) -> str:
        return f"Thing({self.all})"


Thing.__qualname__ = "nowhere.Thing"


class Gather(AggregateFunction[Any, Any, Any]):
    """Changes its accumulator in place, and gives it out as it is."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        return a + b


def extend(first: Any, second: Any) -> Any:
    first.extend(second)
    return first


DESCRIPTORS: dict[str, Any] = {
    each.name: each
    for each in (
        ValueStateDescriptor("value", "array<long>"),
        ValueStateDescriptor("value_pickled", PICKLED),
        ValueStateDescriptor("value_ttl", "array<long>", ttl=READ),
        ValueStateDescriptor("value_pickled_ttl", PICKLED, ttl=READ),
        ValueStateDescriptor("value_space", "array<long>", namespace=SPACE),
        ListStateDescriptor("list", "array<long>"),
        ListStateDescriptor("list_pickled", PICKLED),
        ListStateDescriptor("list_later", "array<long>", prefetch=False),
        ListStateDescriptor("list_ttl", "array<long>", ttl=READ),
        ListStateDescriptor("list_space", "array<long>", namespace=SPACE),
        ListStateDescriptor("list_space_pickled", PICKLED, namespace=SPACE),
        MapStateDescriptor("map", "long", "array<long>"),
        MapStateDescriptor("map_pickled", "long", PICKLED),
        MapStateDescriptor("map_later", "long", "array<long>", prefetch=False),
        MapStateDescriptor("map_ttl", "long", "array<long>", ttl=READ),
        MapStateDescriptor("map_space", "long", "array<long>", namespace=SPACE),
        ReducingStateDescriptor("reducing", extend, "array<long>"),
        ReducingStateDescriptor("reducing_pickled", extend, PICKLED),
        ReducingStateDescriptor("reducing_ttl", extend, PICKLED, ttl=READ),
        ReducingStateDescriptor("reducing_space", extend, "array<long>", namespace=SPACE),
        AggregatingStateDescriptor("aggregating", Gather(), "array<array<long>>"),
        AggregatingStateDescriptor("aggregating_pickled", Gather(), PICKLED),
        AggregatingStateDescriptor("aggregating_ttl", Gather(), "array<array<long>>", ttl=READ),
        AggregatingStateDescriptor("aggregating_space", Gather(), PICKLED, namespace=SPACE),
    )
}


def of_kind(ctx: Any, name: str) -> Any:
    kinds = {"val": "get_state", "lis": "get_list_state", "map": "get_map_state"}
    more = {"red": "get_reducing_state", "agg": "get_aggregating_state"}
    return getattr(ctx, {**kinds, **more}[name[:3]])(DESCRIPTORS[name])


def spoil(value: Any) -> None:
    """Changes a value in place, at all depths."""
    if isinstance(value, Thing):
        value = value.all
    if isinstance(value, dict):
        for each in value.values():
            spoil(each)
        value[99] = [99]
    elif isinstance(value, list):
        for each in value:
            spoil(each)
        value.append(-1)


class Spoiling(KeyedProcessFunction):
    """Changes whatever it gave away and whatever it got."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make

    def open(self, ctx: Any) -> None:
        self.state = of_kind(ctx, self.name)
        self.out: list[Any] = [None, None, None]

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        if "space" in self.name:
            self.state.set_current_namespace(AWARE)
        given = self.make(row.n)
        self.write(row, given)
        spoil(given)
        seen = self.read()
        shown = repr(seen)
        spoil(seen)
        self.out[:] = row.k, shown, [row.n]
        yield self.out
        self.out[1] = repr(self.read())
        self.out[2].append(row.n)
        yield self.out
        self.out[2].clear()
        side = {"n": row.n, "all": [row.n]}
        ctx.output(SIDE, side)
        side["all"].append(-1)
        side["n"] = -1

    def write(self, row: Any, given: Any) -> None:
        kind = self.name[:3]
        if row.op == "clear":
            self.state.clear()
        elif row.op == "read" and kind != "map":
            return
        elif kind == "val":
            self.state.update(given)
        elif kind == "map":
            spoil(self.state.get(row.n % 2))
            if row.op != "read":
                self.state[row.n % 2] = given
        elif kind == "lis" and row.op == "update":
            self.state.update([given, given])
        else:
            self.state.add(given)

    def read(self) -> Any:
        if self.name.startswith("value"):
            return self.state.value()
        if self.name.startswith("map"):
            return dict(sorted(self.state.items()))
        return list(self.state.get()) if self.name.startswith("list") else self.state.get()


ROWS = st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.sampled_from(["write", "update", "read", "clear"]))
SCHEMA, OUTPUT = "k string, n long, op string", "k string, text string, all array<long>"
#: Each row is an epoch: all that a state gives comes from the store.
ONE_BY_ONE = Bounds(chunk_rows=1, max_keys=1, max_bytes=1)
bounds = st.builds(
    Bounds,
    chunk_rows=st.integers(1, 6),
    max_keys=st.integers(1, 3),
    max_bytes=st.sampled_from([1, 500, 1 << 20]),
    max_prefetch=st.integers(0, 3),
    page_rows=st.integers(1, 3),
)
MAKERS: dict[str, list[Callable[..., Any]]] = {
    "pickled": [lambda n: [n], lambda n: [[n], {n: [n]}], lambda n: [n, (n, [n])]],
    "typed": [lambda n: [n], lambda n: [n, None, n]],
}


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_nothing_depends_on_where_a_batch_is_cut(name: str) -> None:
    makers = MAKERS["pickled" if DESCRIPTORS[name].is_pickled else "typed"]
    if name in ("value_pickled", "map_pickled", "list_pickled"):
        makers = [*makers, lambda n: Thing(n)]

    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(ROWS, max_size=12), st.sampled_from(makers), bounds)
    def check(rows: list[Any], make: Callable[..., Any], bounds: Bounds) -> None:
        expected, found = (run(name, make, rows, each) for each in (ONE_BY_ONE, bounds))
        assert found == expected

    check()


def run(name: str, make: Callable[..., Any], rows: list[Any], bounds: Bounds) -> Any:
    harness = KeyedTestHarness(
        Spoiling(name, make), key="k", schema=SCHEMA, output=OUTPUT, bounds=bounds, side_outputs=[SIDE]
    )
    harness.process_batch(rows)
    sides = sorted(map(repr, harness.side_output(SIDE)))
    by_key = [[row for row in harness.output() if row.k == key] for key in "ab"]
    return by_key, sides, [in_order(harness.state(name, key)) for key in "ab"]


def in_order(stored: Any) -> Any:
    return sorted(map(repr, stored.items())) if isinstance(stored, dict) else repr(stored)


class Reused(KeyedProcessFunction):
    """Flink's users often fill one row again and again."""

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        out: Any = [0, [0]]
        for i in range(3):
            out[0] = i
            out[1][0] = i
            yield out
            ctx.output(SIDE, out)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        return self.process_element(None, ctx)


def test_rows_are_those_of_the_time_of_the_yield() -> None:
    harness = KeyedTestHarness(
        Reused(), key="k", schema="k long", output="n long, all array<long>", side_outputs=[SIDE]
    )
    assert harness.process_batch([(1,)]) == [(0, [0]), (1, [1]), (2, [2])]
    assert harness.side_output(SIDE) == [(0, [0]), (1, [1]), (2, [2])]


class ReusedFrame(KeyedProcessFunction):
    batch_type = "pandas"

    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Iterator[Any]:
        frame = pd.DataFrame({"n": [0, 0]})
        for i in range(3):
            frame.loc[:, "n"] = i
            frame["n"].to_numpy()[:] = i
            yield frame


def test_data_frames_are_those_of_the_time_of_the_yield() -> None:
    harness = KeyedTestHarness(ReusedFrame(), key="k", schema="k long", output="n long")
    assert [row.n for row in harness.process_batch([(1,)])] == [0, 0, 1, 1, 2, 2]


class Unkeyed(ProcessFunction, CheckpointedFunction):
    def initialize_state(self, ctx: Any) -> None:
        store = ctx.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list", "array<double>"))
        self.things = store.get_list_state(ListStateDescriptor("things", PICKLED))
        self.map = store.get_broadcast_state(MapStateDescriptor("map", "timestamp", "array<double>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        given: Any = [row.n]
        self.list.add(given)
        self.things.add(given)
        self.map[AWARE] = given
        spoil(given)
        for each in (list(self.list), list(self.things), self.map.get(AWARE), self.map[AWARE], list(self.map.values())):
            spoil(each)
        yield (repr([list(self.list), list(self.things), self.map.get(AWARE), self.map[AWARE], AWARE in self.map]),)
        if row.n == 3:
            del self.map[AWARE]

    def snapshot_state(self, ctx: Any) -> None:
        pass


@pytest.mark.parametrize("size", [1, 4])
def test_operator_states_take_what_they_are_given(size: int) -> None:
    harness = ProcessTestHarness(Unkeyed(), schema="n long", output="text string", time_zone="America/New_York")
    rows = [(n,) for n in range(4)]
    for start in range(0, 4, size):
        harness.process_batch(rows[start : start + size])
    seen = [[[float(i)] for i in range(n + 1)] for n in range(4)]
    things = [[[i] for i in range(n + 1)] for n in range(4)]
    assert [row.text for row in harness.output()] == [
        repr([seen[n], things[n], [float(n)], [float(n)], True]) for n in range(4)
    ]
    assert harness.state("map") == {}


class Mixed(KeyedProcessFunction):
    """All that a value may be given as."""

    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value", MIXED))
        self.double = ctx.get_reducing_state(ReducingStateDescriptor("double", lambda a, b: a + b, "double"))
        self.latest = ctx.get_reducing_state(ReducingStateDescriptor("latest", max, "timestamp"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.value.update({"a": 1, "b": np.array([0.1]), "c": {"x": AWARE}, "d": Decimal("1.5"), "e": bytearray(b"x")})
        self.double.add(1)
        self.latest.add(AWARE + timedelta(hours=row.n))
        yield (repr([self.value.value(), self.double.get(), self.latest.get()]),)


@pytest.mark.parametrize("size", [1, 3])
def test_values_look_one_way_before_and_after_an_epoch(size: int) -> None:
    harness = KeyedTestHarness(
        Mixed(), key="k", schema="k long, n long", output="text string", time_zone="America/New_York"
    )
    value = (
        "Row(a=1.0, b=[0.10000000149011612], c={'x': datetime.datetime(2013, 11, 3, 1, 30, fold=1)}, "
        "d=Decimal('1.50'), e=b'x')"
    )
    latest = ["datetime.datetime(2013, 11, 3, 1, 30, fold=1)", "datetime.datetime(2013, 11, 3, 2, 30)"]
    rows = harness.process([(1, 0), (1, 1), (1, 0)], batch_size=size)
    assert [row.text for row in rows] == [
        f"[{value}, 1.0, {latest[0]}]",
        f"[{value}, 2.0, {latest[1]}]",
        f"[{value}, 3.0, {latest[1]}]",
    ]


class Cleared(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.map = ctx.get_map_state(MapStateDescriptor("map", "long", "long", ttl=READ))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        if row.n < 3:
            self.map[row.n] = row.n
            return
        seen = []
        for key, _ in self.map.items():
            seen.append(key)
            self.map.clear()
        yield (repr([len(seen), dict(self.map.items())]),)


@pytest.mark.parametrize("prefetch", [0, 10])
@pytest.mark.parametrize("size", [1, 4])
def test_a_map_that_is_cleared_while_one_goes_through_it_stays_empty(size: int, prefetch: int) -> None:
    bounds = Bounds(max_prefetch=prefetch, page_rows=2)
    harness = KeyedTestHarness(Cleared(), key="k", schema="k long, n long", output="text string", bounds=bounds)
    (row,) = harness.process([(1, n) for n in range(4)], batch_size=size)
    assert row.text == "[1, {}]"
    assert harness.state("map", 1) is None


NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


class Timed(KeyedProcessFunction):
    def __init__(self, time: Any) -> None:
        self.time = time

    def process_element(self, row: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(self.time)
        ctx.timer_service().register_event_time_timer(self.time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp, type(timestamp) is int


def timed(time: Any) -> KeyedTestHarness:
    schema = "k long, at timestamp"
    return KeyedTestHarness(Timed(time), key="k", schema=schema, output="n long, is_int boolean", event_time="at")


@pytest.mark.parametrize("time", [np.int64(7), np.uint8(7), np.datetime64(7, "ms").item(), pd.Timestamp(7, unit="ms")])
def test_a_timer_takes_whole_numbers_of_any_kind(time: Any) -> None:
    harness = timed(time)
    harness.process_batch([(1, NOON)])
    assert harness.advance_processing_time(7) == [(7, True)]
    assert harness.advance_watermark(7) == [(7, True)]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (1 << 63, "9223372036854775808 ms, which has more than 64 bits"),
        (-(1 << 63) - 1, "which has more than 64 bits"),
        (1.5, "a time is 1.5, a float: give a datetime, or milliseconds"),
        (pd.NaT, "a time is NaT"),
    ],
)
def test_a_timer_that_cannot_be_is_refused_by_name(time: Any, message: str) -> None:
    with pytest.raises(FunctionFailed, match=message):
        timed(time).process_batch([(1, NOON)])


class Pass(KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (True,) if row.n == 1 else (row.n,)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_row_that_does_not_fit_does_not_fit_beside_others_either(rows: int) -> None:
    harness = KeyedTestHarness(Pass(), key="n", schema="n long", output="n long")
    with pytest.raises(FunctionFailed, match="column n is of type int64, and was given True, a bool"):
        harness.process_batch([(n,) for n in range(1, rows + 1)])
