from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from snapline import (
    AggregateFunction,
    AggregatingStateDescriptor,
    FunctionFailed,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Row,
    ValueStateDescriptor,
)
from snapline.state.ddl import parse_type
from snapline.state.form import form_of
from snapline.testing import KeyedTestHarness


def test_only_values_that_can_be_changed_are_copied() -> None:
    for text in ("long", "string", "struct<a:int,b:struct<c:date>>"):
        assert form_of(parse_type(text), None, "it").give is None
    for text in ("array<map<string,date>>", "map<int,binary>", "struct<a:array<int>>"):
        form = form_of(parse_type(text), None, "it")
        assert form.give is not None
        assert form.give(None) is None


def test_structs_become_rows_at_any_depth() -> None:
    take = form_of(parse_type("array<struct<a:int,b:map<string,struct<c:int>>>>"), None, "it").take
    (row, other, nothing) = take([(1, {"x": {"c": 2}}), {"b": None}, None])
    assert (row.a, row.b["x"].c, other.a, other.b, nothing) == (1, 2, None, None, None)
    assert take([row])[0] == row
    assert take(None) is None


class Sum(AggregateFunction[Any, Any, int]):
    def create_accumulator(self) -> Any:
        return {"n": 0}

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator["n"] + value.n,)

    def get_result(self, accumulator: Any) -> int:
        assert isinstance(accumulator, Row)
        return int(accumulator.n)


class Structs(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value", "struct<n:long>"))
        self.list = ctx.get_list_state(ListStateDescriptor("list", "struct<n:long>"))
        self.map = ctx.get_map_state(MapStateDescriptor("map", "struct<k:long>", "struct<n:long>"))
        self.named = ctx.get_list_state(ListStateDescriptor("named", "struct<n:long>", namespace="long"))
        reduce = ReducingStateDescriptor("reducing", lambda a, b: {"n": a.n + b.n}, "struct<n:long>")
        self.reducing = ctx.get_reducing_state(reduce)
        self.aggregating = ctx.get_aggregating_state(AggregatingStateDescriptor("aggregating", Sum(), "struct<n:long>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.value.update((row.n,))
        self.list.add({"n": row.n})
        self.map[(row.n,)] = (row.n,)
        self.named.set_current_namespace(1)
        self.named.add((row.n,))
        self.reducing.add((row.n,))
        self.aggregating.add(row)
        yield (
            [self.value.value().n],
            [each.n for each in self.list.get()],
            sorted((key.k, value.n) for key, value in self.map.items()),
            [each.n for each in self.named.get()],
            self.reducing.get().n,
            self.aggregating.get(),
        )


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_state_gives_rows_before_and_after_it_was_stored(batch_size: int) -> None:
    output = "v array<long>, l array<long>, m array<struct<k:long,n:long>>, ns array<long>, r long, a long"
    with KeyedTestHarness(Structs(), key="k", schema="k long, n long", output=output) as harness:
        rows = harness.process([(1, 1), (1, 2), (1, 3)], batch_size=batch_size)
    assert rows[-1] == ([3], [1, 2, 3], [(1, 1), (2, 2), (3, 3)], [1, 2, 3], 6, 6)


def test_a_struct_that_does_not_fit_is_told_where_it_is_written() -> None:
    class Wrong(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.value = ctx.get_state(ValueStateDescriptor("value", "struct<n:long>"))

        def process_element(self, row: Any, ctx: Any) -> Any:
            self.value.update((1, 2))

    harness = KeyedTestHarness(Wrong(), key="k", schema="k long", output="n long")
    with pytest.raises(FunctionFailed, match=r"2 values where 1 belong \(n\): \(1, 2\) at key 1"):
        harness.process_batch([(1,)])
