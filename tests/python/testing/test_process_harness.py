"""Operator and broadcast state, in the harness."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from snapline import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    FunctionFailed,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ProcessFunction,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.errors import FunctionNotDeterministic, InvalidConfiguration
from snapline.state.operator_spec import Distribution, OperatorStateSpec
from snapline.testing import Bounds, BroadcastInput, KeyedTestHarness, ProcessTestHarness
from snapline.testing.dealing import redistribute

RULES = MapStateDescriptor("rules", "string", "long")
LAST = ValueStateDescriptor("last", "long")


class Keeper(ProcessFunction, CheckpointedFunction):
    """Keeps every row, in a list and as bytes."""

    def initialize_state(self, ctx: Any) -> None:
        store = ctx.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list", "long"))
        self.union = store.get_union_list_state(ListStateDescriptor("union", "struct<v: long>"))
        self.raw = [pickle.load(part) for part in ctx.get_raw_operator_state_inputs()]
        self.first = not ctx.is_restored()

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield row.v, self.first
        self.list.add(row.v)
        self.union.add({"v": row.v})
        self.raw.append(row.v)

    def snapshot_state(self, ctx: Any) -> None:
        assert ctx.get_batch_id() >= 0
        out = ctx.get_raw_operator_state_output()
        for value in self.raw:
            out.start_new_partition()
            pickle.dump(value, out)


def keeper(parallelism: int, **more: Any) -> ProcessTestHarness:
    return ProcessTestHarness(
        Keeper(), schema="v long", output="v long, first boolean", parallelism=parallelism, **more
    )


def test_state_goes_from_batch_to_batch_and_the_first_runs_everywhere() -> None:
    harness = keeper(2)
    assert harness.process_batch([(1,), (2,)], partition=0) == [(1, True), (2, True)]
    assert harness.process_batch([(3,), (4,)]) == [(3, False), (4, False)]
    assert [harness.state("list", p) for p in (0, 1)] == [[1, 2, 3], [4]]
    assert harness.state("union", 1) == [(4,)]
    assert [pickle.loads(part) for part in harness.state("$raw", 0)] == [1, 2, 3]


def test_more_than_a_frame_of_state() -> None:
    harness = keeper(1, bounds=Bounds(chunk_rows=3, page_rows=4))
    for batch in range(3):
        harness.process_batch([(batch * 10 + i,) for i in range(10)])
    assert harness.state("list") == list(range(30))


@pytest.mark.parametrize("seed", range(40))
def test_every_element_is_dealt_once_and_evenly(seed: int) -> None:
    source = random.Random(seed)
    before, after = source.randrange(1, 6), source.randrange(1, 6)
    harness = keeper(before)
    for _ in range(source.randrange(1, 4)):
        harness.process_batch([(source.randrange(1000),) for _ in range(source.randrange(15))])
    whole = [v for p in range(before) for v in harness.state("list", p)]
    union = [v for p in range(before) for v in harness.state("union", p)]
    harness.rescale(after)
    lists = [harness.state("list", p) for p in range(after)]
    sizes = [len(each) for each in lists]
    if before != after:
        assert max(sizes) - min(sizes) <= 1
    assert [v for each in lists for v in each] == whole
    assert all(harness.state("union", p) == union for p in range(after))
    raw = [pickle.loads(part) for p in range(after) for part in harness.state("$raw", p)]
    assert sorted(raw) == sorted(whole)
    assert harness.process_batch([(7,)]) == [(7, False)]


def test_the_next_state_begins_where_the_surplus_ended() -> None:
    specs = [OperatorStateSpec.of(ListStateDescriptor(name, "long"), Distribution.SPLIT) for name in ("b", "a")]
    one = {"a": list(enumerate("pqrs")), "b": list(enumerate("xy"))}
    found = redistribute(specs, [one], 3)
    values = [{name: [v for _, v in each[name]] for name in "ab"} for each in found]
    assert values == [{"a": ["p", "q"], "b": []}, {"a": ["r"], "b": ["x"]}, {"a": ["s"], "b": ["y"]}]


class Factor(BroadcastProcessFunction):
    def open(self, ctx: Any) -> None:
        self.subtask = ctx.get_index_of_this_subtask()

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield (row.v * ctx.get_broadcast_state(RULES).get("factor", 1),)

    def process_broadcast_element(self, row: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES)[row.name] = row.v


class Crooked(Factor):
    def process_broadcast_element(self, row: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES)[row.name] = row.v + self.subtask


def factor(function: BroadcastProcessFunction, **more: Any) -> ProcessTestHarness:
    broadcast = BroadcastInput.of("name string, v long, at int", RULES, order_by="at")
    return ProcessTestHarness(function, schema="v long", output="v long", parallelism=3, broadcast=broadcast, **more)


def test_broadcast_rows_come_first_in_their_order_to_all() -> None:
    harness = factor(Factor())
    assert harness.process_batch([(1,), (2,), (3,)], broadcast=[("factor", 2, 9), ("factor", 5, 1)]) == [
        (2,),
        (4,),
        (6,),
    ]
    harness.rescale(5)
    assert [harness.state("rules", p) for p in range(5)] == [{"factor": 2}] * 5
    with pytest.raises(FunctionNotDeterministic, match="'rules' of partition 0 is not that of"):
        factor(Crooked()).process_batch([], broadcast=[("factor", 1, 1)])


class Resets(KeyedBroadcastProcessFunction):
    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(LAST)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield row.k, self.last.value(), ctx.get_broadcast_state(RULES).get("reset")
        self.last.update(row.v)

    def process_broadcast_element(self, row: Any, ctx: Any) -> list[Any]:
        ctx.get_broadcast_state(RULES)[row.name] = row.v
        seen: list[Any] = []

        def reset(key: Any, state: Any) -> None:
            seen.append((key, state.value()))
            state.update(None if key % 5 == 0 else row.v)

        ctx.apply_to_keyed_state(LAST, reset)
        return [(key, value, -row.v) for key, value in sorted(seen)]


@pytest.mark.parametrize("page", [1, 3, 100])
def test_the_state_of_all_keys_is_reached_page_by_page(page: int) -> None:
    with KeyedTestHarness(
        Resets(),
        key="k",
        schema="k long, v long",
        output="k long, last long, reset long",
        broadcast=BroadcastInput.of("name string, v long", RULES),
        bounds=Bounds(chunk_rows=page),
    ) as harness:
        harness.process_batch([(k, k * 10) for k in range(1, 11)])
        out = harness.process_batch([(3, 0)], broadcast=[("reset", 1), ("reset", 2)])
        first = [(k, k * 10, -1) for k in range(1, 11)]
        second = [(k, 1, -2) for k in range(1, 11) if k % 5]
        assert out == [*first, *second, (3, 2, 2)]
        assert [harness.state("last", k) for k in (1, 3, 5)] == [2, 0, None]
        assert harness.state("rules") == {"reset": 2}


class _Asks(ProcessFunction, CheckpointedFunction):
    def __init__(self, ask: Any) -> None:
        self.ask = ask

    def initialize_state(self, ctx: Any) -> None:
        self.ask(ctx.get_operator_state_store())

    def process_element(self, row: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(1)

    def snapshot_state(self, ctx: Any) -> None:
        pass


class _Keyed(ProcessFunction):
    def open(self, ctx: Any) -> None:
        ctx.get_state(LAST)

    def process_element(self, row: Any, ctx: Any) -> None:
        pass


def harness_of(function: Any) -> ProcessTestHarness:
    return ProcessTestHarness(function, schema="v long", output="v long")


def test_what_cannot_be_is_refused_before_anything_runs() -> None:
    with pytest.raises(InvalidConfiguration, match="where a ListStateDescriptor belongs"):
        harness_of(_Asks(lambda store: store.get_list_state(RULES)))
    ttl = StateTtlConfig(timedelta(days=1))
    with pytest.raises(InvalidConfiguration, match="has ttl, which is for keyed state"):
        harness_of(_Asks(lambda store: store.get_list_state(ListStateDescriptor("x", "long", ttl=ttl))))

    def two(store: Any) -> None:
        store.get_list_state(ListStateDescriptor("x", "long"))
        store.get_union_list_state(ListStateDescriptor("x", "long"))

    with pytest.raises(InvalidConfiguration, match="two operator states"):
        harness_of(_Asks(two))
    with pytest.raises(InvalidConfiguration, match="of a stream without a key"):
        harness_of(_Keyed())
    with pytest.raises(InvalidConfiguration, match="no ProcessFunction"):
        harness_of(KeyedProcessFunction())
    with pytest.raises(InvalidConfiguration, match="parallelism is 0"):
        keeper(0)
    with pytest.raises(InvalidConfiguration, match="a timer in a stream without a key"):
        harness_of(_Asks(lambda store: None)).process_batch([(1,)])


class _Fails(Factor):
    def process_broadcast_element(self, row: Any, ctx: Any) -> None:
        raise ValueError("no such rule")


def test_errors_say_where() -> None:
    with pytest.raises(FunctionFailed, match=r"process_broadcast_element of _Fails raised .*no such rule.*name='a'"):
        factor(_Fails()).process_batch([], broadcast=[("a", 1, 1)])


class Counted(KeyedProcessFunction, CheckpointedFunction):
    """Keyed state, and a count of the partition's rows."""

    def initialize_state(self, ctx: Any) -> None:
        self.counts = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("counts", "long"))
        self.count = sum(self.counts)

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(LAST)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.count += 1
        yield row.k, self.last.value(), self.count
        self.last.update(row.v)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time())

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.count += 100

    def snapshot_state(self, ctx: Any) -> None:
        self.counts.update([self.count])


def test_a_keyed_function_may_have_operator_state_too() -> None:
    with KeyedTestHarness(
        Counted(), key="k", schema="k long, v long", output="k long, last long, count long", bounds=Bounds(max_keys=2)
    ) as harness:
        assert harness.process_batch([(1, 10), (2, 20), (3, 30)]) == [(1, None, 1), (2, None, 2), (3, None, 3)]
        # The snapshot is taken after the timers.
        assert harness.state("counts") == [303]
        assert harness.process_batch([(1, 11)]) == [(1, 10, 304)]
        snapshot = harness.snapshot()
        harness.process_batch([(1, 12)])
        harness.restore(snapshot)
        assert harness.process_batch([(1, 13)]) == [(1, 11, 405)]
