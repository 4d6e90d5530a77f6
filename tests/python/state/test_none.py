"""None in lists, maps and operator states: it comes back as it was, or is refused where it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from snapline import (
    PICKLED,
    AggregateFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    FunctionFailed,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ProcessFunction,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.testing import BroadcastInput, KeyedTestHarness, ProcessTestHarness
from snapline.window import TumblingEventTimeWindows

STRUCT = "struct<a: int, b: string>"
#: Types whose values may be None, and a value of each.
OTHERS: list[tuple[Any, Any]] = [
    ("long", 1),
    (f"array<{STRUCT}>", [(1, "x"), None]),
    (f"map<string, {STRUCT}>", {"x": None}),
    (PICKLED, {1}),
]
REFUSED = (
    r"the value of state it is of type struct<a:int,b:string>, and was given None, .* row of Nones: leave it out, "
    "remove what there is, or let a field"
)
TTL = StateTtlConfig(timedelta(days=1))

Call = Callable[[Any, Any], None]
Case = tuple[str, dict[str, Any], Call]
LISTS: dict[str, Call] = {
    "add": lambda state, value: state.add(value),
    "add_all": lambda state, value: state.add_all([value]),
    "update": lambda state, value: state.update([value]),
}
MAPS: dict[str, Call] = {
    "put": lambda state, value: state.put("k", value),
    "item": lambda state, value: state.__setitem__("k", value),
    "put_all": lambda state, value: state.put_all({"k": value}),
}
KEYED: dict[str, Case] = {
    **{f"list, {name}": ("list", {}, call) for name, call in LISTS.items()},
    **{f"list that expires, {name}": ("list", {"ttl": TTL}, call) for name, call in LISTS.items()},
    **{f"map, {name}": ("map", {}, call) for name, call in MAPS.items()},
    **{f"map that expires, {name}": ("map", {"ttl": TTL}, call) for name, call in MAPS.items()},
    **{f"map with namespaces, {name}": ("map", {"namespace": "long"}, call) for name, call in MAPS.items()},
}


class Keyed(KeyedProcessFunction):
    """Puts a value and then None."""

    def __init__(self, kind: str, type_: Any, options: Any, call: Call, value: Any) -> None:
        self.kind, self.type, self.options, self.call, self.value = kind, type_, options, call, value

    def open(self, ctx: Any) -> None:
        if self.kind == "list":
            self.state = ctx.get_list_state(ListStateDescriptor[Any]("it", self.type, **self.options))
        else:
            self.state = ctx.get_map_state(MapStateDescriptor[Any, Any]("it", "string", self.type, **self.options))

    def process_element(self, row: Any, ctx: Any) -> Any:
        if "namespace" in self.options:
            self.state.set_current_namespace(1)
        before = list(self.state.get() if self.kind == "list" else self.state.values())
        self.call(self.state, self.value)
        self.call(self.state, None)
        yield repr(before), repr(list(self.state.get() if self.kind == "list" else self.state.values()))


def keyed(function: KeyedProcessFunction) -> KeyedTestHarness:
    return KeyedTestHarness(function, key="k", schema="k long", output="before string, after string")


@pytest.mark.parametrize("what", list(KEYED))
def test_keyed_state_refuses_it_in_place_of_a_struct(what: str) -> None:
    kind, options, call = KEYED[what]
    with (
        keyed(Keyed(kind, STRUCT, options, call, (1, "x"))) as harness,
        pytest.raises(FunctionFailed, match=REFUSED),
    ):
        harness.process_batch([(1,)])


@pytest.mark.parametrize("what", list(KEYED))
@pytest.mark.parametrize(("type_", "value"), OTHERS)
def test_of_other_types_it_comes_back(what: str, type_: Any, value: Any) -> None:
    kind, options, call = KEYED[what]
    with keyed(Keyed(kind, type_, options, call, value)) as harness:
        ((_, after),) = harness.process_batch([(1,)])
        assert after.endswith("None]")
        assert harness.process_batch([(1,)])[0].before == after


def test_a_struct_of_nothing_but_nones_is_one() -> None:
    class Empty(Keyed):
        def process_element(self, row: Any, ctx: Any) -> Any:
            yield repr(list(self.state)), ""
            self.state.add((None, None))

    with keyed(Empty("list", STRUCT, {}, LISTS["add"], None)) as harness:
        assert [harness.process_batch([(1,)])[0].before for _ in range(2)] == ["[]", "[Row(a=None, b=None)]"]


class NotThere(KeyedProcessFunction):
    """None deletes a value, also one of a namespace; a list with namespaces is stored whole."""

    def open(self, ctx: Any) -> None:
        self.values = [
            ctx.get_state(ValueStateDescriptor[Any]("plain", STRUCT)),
            ctx.get_state(ValueStateDescriptor[Any]("expires", STRUCT, ttl=TTL)),
            ctx.get_state(ValueStateDescriptor[Any]("named", STRUCT, namespace="long")),
        ]
        none = ReducingStateDescriptor[Any]("reducing", lambda a, b: None, STRUCT, namespace="long")
        self.reducing = ctx.get_reducing_state(none)
        self.list = ctx.get_list_state(ListStateDescriptor[Any]("list", STRUCT, namespace="long"))

    def process_element(self, row: Any, ctx: Any) -> Any:
        for state in (self.values[2], self.reducing, self.list):
            state.set_current_namespace(1)
        for state in self.values:
            state.update((1, "x"))
            state.update(None)
        self.reducing.add((1, "x"))
        self.reducing.add((1, "x"))
        self.list.add(None)
        yield "", ""


def test_where_none_says_that_there_is_nothing_it_stays_allowed() -> None:
    with keyed(NotThere()) as harness:
        harness.process_batch([(1,)])
        harness.process_batch([(1,)])
        names = ("plain", "expires", "named", "reducing")
        assert [harness.state(name, 1) for name in names] == [None] * 4
        assert harness.state("list", 1) == {1: [None, None]}


def test_null_of_a_column_removes_an_entry() -> None:
    class Columns(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            ctx.get_map_state(MapStateDescriptor[Any, Any]("it", "long", STRUCT, entry="k"))

        def process_arrow(self, batch: Any, state: Any) -> None:
            values = pa.array([{"a": 1, "b": "x"}, {"a": None, "b": None}], state.entries("it").type)
            empty = state.entries("it").null_count
            state.update_entries("it", values if empty else pa.nulls(2, values.type))

    with keyed(Columns()) as harness:
        harness.process_batch([(1,), (2,)])
        assert [harness.state("it", k) for k in (1, 2)] == [{1: (1, "x")}, {2: (None, None)}]
        harness.process_batch([(1,), (2,)])
        assert [harness.state("it", k) for k in (1, 2)] == [None, None]


class Operator(ProcessFunction, CheckpointedFunction):
    """Puts a value and then None into a list of the operator."""

    def __init__(self, ask: str, type_: Any, call: Call, value: Any) -> None:
        self.ask, self.type, self.call, self.value = ask, type_, call, value

    def initialize_state(self, ctx: Any) -> None:
        ask = getattr(ctx.get_operator_state_store(), self.ask)
        if self.ask == "get_broadcast_state":
            self.state = ask(MapStateDescriptor[Any, Any]("it", "string", self.type))
        else:
            self.state = ask(ListStateDescriptor[Any]("it", self.type))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        is_map = self.ask == "get_broadcast_state"
        before = list(self.state.values() if is_map else self.state)
        self.call(self.state, self.value)
        self.call(self.state, None)
        yield repr(before), repr(list(self.state.values() if is_map else self.state))

    def snapshot_state(self, ctx: Any) -> None: ...


OPERATOR: dict[str, tuple[str, Call]] = {
    **{f"list, {name}": ("get_list_state", call) for name, call in LISTS.items()},
    **{f"union list, {name}": ("get_union_list_state", call) for name, call in LISTS.items()},
    **{f"broadcast state, {name}": ("get_broadcast_state", call) for name, call in MAPS.items()},
}


@pytest.mark.parametrize("what", list(OPERATOR))
def test_operator_state_does_the_same(what: str) -> None:
    ask, call = OPERATOR[what]

    def harness(type_: Any, value: Any) -> ProcessTestHarness:
        function = Operator(ask, type_, call, value)
        return ProcessTestHarness(function, schema="k long", output="before string, after string")

    with pytest.raises(FunctionFailed, match=REFUSED):
        harness(STRUCT, (1, "x")).process_batch([(1,)])
    for type_, value in OTHERS:
        run = harness(type_, value)
        ((_, after),) = run.process_batch([(1,)])
        assert after.endswith("None]")
        assert run.process_batch([(1,)])[0].before == after


class Rules(BroadcastProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> None: ...

    def process_broadcast_element(self, row: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES)["x"] = None


RULES = MapStateDescriptor[Any, Any]("it", "string", STRUCT)


def test_a_broadcast_stream_does_so_too() -> None:
    broadcast = BroadcastInput.of("v long", RULES)
    harness = ProcessTestHarness(Rules(), schema="v long", output="v long", broadcast=broadcast)
    with pytest.raises(FunctionFailed, match=REFUSED):
        harness.process_batch([], broadcast=[(1,)])


class Forgets(AggregateFunction[Any, Any, Any]):
    """Its ``add`` gives nothing back."""

    def create_accumulator(self) -> Any:
        return 0, ""

    def add(self, value: Any, accumulator: Any) -> Any: ...

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


def test_an_accumulator_of_a_window_is_an_element_too() -> None:
    window = TumblingEventTimeWindows.of(timedelta(minutes=1))
    with (
        KeyedTestHarness.of_stream(
            lambda stream: stream.window(window).aggregate(Forgets(), None, "a int, b string", accumulator_type=STRUCT),
            key="k",
            schema="k long, at timestamp",
            event_time="at",
        ) as harness,
        pytest.raises(FunctionFailed, match=r"state window-contents is of type struct.* was given None"),
    ):
        harness.process_batch([(1, datetime(2024, 1, 1))])
