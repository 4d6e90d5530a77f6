"""Entries of maps and namespaces by keys of every type: what was put is what is got, wherever epochs end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapline import KeyedProcessFunction, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from snapline.state.ddl import parse_type
from snapline.testing import Bounds, KeyedTestHarness
from snapline.testing.schemas import arrow_type
from snapline.worker.decode import decoder
from snapline.worker.encode import encoder

from .key_types import KEY_TYPES, NEW_YORK, given_keys

OPS = ("put", "get", "remove", "contains", "get_all", "count", "merge")
STATES = ("ahead", "later", "named", "spaces", "inner", "sums")


class Keys(KeyedProcessFunction):
    """Rows say what to do with which of the keys."""

    def __init__(self, kind: str, keys: list[Any]) -> None:
        self.kind, self.keys = kind, keys

    def open(self, ctx: Any) -> None:
        kind = self.kind
        self.ahead = ctx.get_map_state(MapStateDescriptor("ahead", kind, "long"))
        self.later = ctx.get_map_state(MapStateDescriptor("later", kind, "long", prefetch=False))
        self.named = ctx.get_map_state(MapStateDescriptor("named", kind, "long", entry="e"))
        self.spaces = ctx.get_state(ValueStateDescriptor("spaces", "long", namespace=kind))
        self.inner = ctx.get_map_state(MapStateDescriptor("inner", kind, "long", namespace=kind))
        add = ReducingStateDescriptor("sums", lambda a, b: a + b, "long", namespace=kind)
        self.sums = ctx.get_reducing_state(add)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield row.k, repr([self.perform(name, row) for name in STATES])

    def perform(self, name: str, row: Any) -> Any:
        state, key, op = getattr(self, name), self.keys[row.i], row.op
        if name in ("spaces", "sums"):
            return self.of_namespace(name, key, row)
        if name == "inner":
            state.set_current_namespace(self.keys[-1])
        if op in ("put", "merge"):
            return state.put(key, row.n)
        if op == "get":
            return state.get(key, -1)
        if op == "remove":
            return state.remove(key)
        if op == "contains":
            return key in state
        if op == "get_all":
            return sorted(state.get_all([key, self.keys[0]]).values())
        return len(state), sorted(state.values()), all(state[each] is not None for each in state)

    def of_namespace(self, name: str, key: Any, row: Any) -> Any:
        state = getattr(self, name)
        state.set_current_namespace(key)
        if name == "spaces":
            return state.update(row.n) if row.op == "put" else state.value()
        if row.op == "merge":
            state.merge_namespaces(key, [self.keys[0], key])
        return state.add(row.n) if row.op == "put" else state.get()


class Model:
    """The same by the text of what the store has."""

    def __init__(self, kind: str, keys: list[Any]) -> None:
        arrow = arrow_type(parse_type(kind), NEW_YORK)
        self.keys = [repr(zero(decoder(arrow)(encoder(arrow)([key]))[0])) for key in keys]
        self.map: dict[str, int] = {}
        self.merged: dict[str, int] = {}
        self.spaces: dict[str, int] = {}
        self.sums: dict[str, int] = {}

    def perform(self, op: str, i: int, n: int) -> list[Any]:
        key, first = self.keys[i], self.keys[0]
        space: Any = self.spaces.get(key)
        if op == "put":
            space = self.spaces[key] = n
            space = None
        found: Any = None
        if op in ("put", "merge"):
            self.map[key] = n
        elif op == "get":
            found = self.map.get(key, -1)
        elif op == "remove":
            self.map.pop(key, None)
        elif op == "contains":
            found = key in self.map
        elif op == "get_all":
            found = sorted(self.map[each] for each in {key, first} if each in self.map)
        else:
            found = len(self.map), sorted(self.map.values()), True
        return [found, found, found, space, found, self.sum(op, key, first, n)]

    def sum(self, op: str, key: str, first: str, n: int) -> Any:
        if op == "put":
            self.sums[key] = self.sums.get(key, 0) + n
            return None
        if op == "merge" and first != key and first in self.sums:
            self.sums[key] = self.sums.get(key, 0) + self.sums.pop(first)
        return self.sums.get(key)


def zero(value: Any) -> Any:
    """Without negative zeros."""
    if isinstance(value, (list, tuple)):
        return [zero(each) for each in value]
    return value + 0.0 if isinstance(value, float) else value


bounds = st.builds(
    Bounds,
    chunk_rows=st.integers(1, 4),
    max_keys=st.integers(1, 3),
    max_bytes=st.sampled_from([1, 1_500, 1 << 20]),
    max_prefetch=st.integers(0, 3),
    page_rows=st.integers(1, 3),
)


@pytest.mark.parametrize("kind", KEY_TYPES)
def test_what_was_put_is_what_is_got(kind: str) -> None:
    @settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data(), st.lists(given_keys(kind), min_size=1, max_size=5), bounds, st.booleans())
    def check(data: Any, keys: list[Any], bounds: Bounds, restarts: bool) -> None:
        ops = st.tuples(st.integers(0, len(keys) - 1), st.sampled_from(OPS), st.integers(0, 9))
        batches = data.draw(st.lists(st.lists(ops, max_size=9), min_size=1, max_size=4))
        model = Model(kind, keys)
        harness = harness_of(kind, keys, bounds)
        for batch in batches:
            found = harness.process_batch([(1, keys[i], i, op, n) for i, op, n in batch])
            assert [text for _, text in found] == [repr(model.perform(op, i, n)) for i, op, n in batch]
            if restarts:
                snapshot = harness.snapshot()
                harness = harness_of(kind, keys, bounds)
                harness.restore(snapshot)
        for name in STATES[:3]:
            assert sorted((harness.state(name, 1) or {}).values()) == sorted(model.map.values())

    check()


def harness_of(kind: str, keys: list[Any], bounds: Bounds) -> KeyedTestHarness:
    schema, output = f"k long, e {kind}, i long, op string, n long", "k long, text string"
    return KeyedTestHarness(Keys(kind, keys), key="k", schema=schema, output=output, bounds=bounds, time_zone=NEW_YORK)


@pytest.mark.parametrize("kind", ["timestamp", "double", "struct<a:timestamp,b:float>"])
def test_the_key_of_a_stream_is_its_bytes(kind: str) -> None:
    class Count(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.count = ctx.get_state(ValueStateDescriptor("count", "long"))

        def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_processing_time_timer(1)
            yield row.i, self.count.value()

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield -1, self.count.value()

    @settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(given_keys(kind), min_size=1, max_size=6))
    def check(keys: list[Any]) -> None:
        texts = Model(kind, keys).keys
        schema = f"k {kind}, i long"
        harness = KeyedTestHarness(Count(), key="k", schema=schema, output="i long, n long", time_zone=NEW_YORK)
        rows = [row for i, key in enumerate(keys) for row in harness.process_batch([(key, i)])]
        assert rows == [(i, texts[: i + 1].count(text)) for i, text in enumerate(texts)]
        assert [harness.state("count", (key,)) for key in keys] == [texts.count(text) for text in texts]
        assert harness.num_keys("count") == harness.num_timers() == len(set(texts))
        fired = harness.advance_processing_time(1)
        assert sorted(n for _, n in fired) == sorted(texts.count(text) for text in set(texts))

    check()
