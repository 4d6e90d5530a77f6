"""The harness in real-time mode: rows go through while a micro-batch lasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapline import KeyedProcessFunction, StateTtlConfig, ValueStateDescriptor
from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedTestHarness

SCHEMA = "k string, v long, at timestamp"
TEN = datetime(2020, 1, 1, 10)


def harness(function: KeyedProcessFunction, output: str = "k string, n long", **more: Any) -> KeyedTestHarness:
    return KeyedTestHarness(function, key="k", schema=SCHEMA, output=output, **more)


def row(k: str, v: int = 0) -> tuple[str, int, datetime]:
    return k, v, TEN


class Count(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(ValueStateDescriptor("n", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int]]:
        n = (self.n.value() or 0) + 1
        self.n.update(n)
        yield row.k, n


class Ring(KeyedProcessFunction):
    """A timer of the clock, so many milliseconds after each row; it sets another one, once."""

    def process_element(self, row: Any, ctx: Any) -> Sequence[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + row.v)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int]]:
        if timestamp % 10 == 0:
            ctx.timer_service().register_processing_time_timer(timestamp + 1)
        yield ctx.get_current_key(), timestamp


class Hourly(KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Sequence[Any]:
        ctx.timer_service().register_event_time_timer(row.at + timedelta(hours=1))
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int]]:
        yield ctx.get_current_key(), timestamp


class Remember(KeyedProcessFunction):
    """Whether a key has had a row in the last two seconds."""

    def open(self, ctx: Any) -> None:
        ttl = StateTtlConfig(timedelta(seconds=2))
        self.last = ctx.get_state(ValueStateDescriptor("last", "long", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int]]:
        yield row.k, -1 if (last := self.last.value()) is None else last
        self.last.update(row.v)


class Sums(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        ctx.get_state(ValueStateDescriptor("n", "long"))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        n = pa.array([(old or 0) + 1 for old in state.value("n").to_pylist()])
        state.update("n", n)
        return pa.record_batch([state.keys.column(0), n], names=["k", "n"])


def test_a_row_goes_through_at_once() -> None:
    with harness(Count()) as h:
        with h.live() as batch:
            assert batch.process(row("a")) == [("a", 1)]
            assert batch.process(row("a"), row("b")) == [("a", 2), ("b", 1)]
        assert h.process_batch([row("a")]) == [("a", 3)]
        assert h.output() == [("a", 1), ("a", 2), ("b", 1), ("a", 3)]


def test_a_tick_puts_the_state_into_the_store() -> None:
    with harness(Count()) as h, h.live() as batch:
        batch.process(row("a"))
        assert h.state("n", "a") is None
        batch.advance_processing_time(100)
        assert h.state("n", "a") == 1
        assert batch.process(row("a")) == [("a", 2)]


def test_timers_of_the_clock_fire_without_a_row() -> None:
    with harness(Ring()) as h, h.live() as batch:
        assert batch.process(row("a", 100), row("b", 205)) == []
        assert batch.advance_processing_time(99) == []
        assert batch.advance_processing_time(100) == [("a", 100)]
        assert batch.advance_processing_time(1_000) == [("a", 101), ("b", 205)]
        assert batch.process(row("a", 5)) == [], "the clock of the row is the tick's"
        assert batch.advance_processing_time(1_005) == [("a", 1_005)]
        assert h.num_timers() == 0


def test_timers_in_event_time_fire_at_the_end() -> None:
    """By the watermark that the micro-batch began with."""
    with harness(Hourly(), event_time="at") as h:
        h.set_times(watermark=TEN - timedelta(hours=1))
        with h.live() as batch:
            assert batch.process(row("a")) == []
            h.set_times(watermark=TEN + timedelta(hours=1))
            assert batch.advance_processing_time(TEN + timedelta(days=1)) == []
            assert batch.end() == []
        with h.live() as batch:
            assert batch.process(row("late")) == []
            assert [r.k for r in batch.end()] == ["a"]
        assert h.late_rows == 1


def test_values_expire_while_the_batch_lasts() -> None:
    with harness(Remember()) as h, h.live() as batch:
        assert batch.process(row("a", 7)) == [("a", -1)]
        batch.advance_processing_time(1_999)
        assert batch.process(row("a", 8)) == [("a", 7)]
        batch.advance_processing_time(4_000)
        assert batch.process(row("a", 9)) == [("a", -1)]


def test_a_function_of_arrow() -> None:
    with harness(Sums()) as h, h.live() as batch:
        assert batch.process(row("a")) == [("a", 1)]
        assert batch.process(row("a")) == [("a", 2)]


BATCHES = st.lists(st.lists(st.one_of(st.sampled_from("abc"), st.none()), max_size=8), max_size=4)


@given(BATCHES, st.sampled_from([Bounds(), Bounds(max_keys=2), Bounds(chunk_rows=1, max_keys=1)]))
def test_counts_hold_over_ticks_and_batches(batches: list[list[str | None]], bounds: Bounds) -> None:
    """None: a tick."""
    seen = Counter[str]()
    clock = 0
    with harness(Count(), bounds=bounds) as h:
        for events in batches:
            with h.live() as batch:
                for event in events:
                    if event is None:
                        clock += 100
                        assert batch.advance_processing_time(clock) == []
                    else:
                        seen[event] += 1
                        assert batch.process(row(event)) == [(event, seen[event])]
        assert {k: h.state("n", k) or 0 for k in "abc"} == {k: seen[k] for k in "abc"}


class AtOnce(KeyedProcessFunction):
    def process_batch(self, key: Any, rows: Any, ctx: Any) -> Sequence[Any]:
        return ()


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: harness(Count(), order_by=["v"]), "order_by"),
        (lambda: harness(AtOnce()), "process_batch"),
    ],
)
def test_a_function_that_needs_a_whole_batch_is_refused(made: Any, reason: str) -> None:
    with made() as h, pytest.raises(InvalidConfiguration, match=reason):
        h.live()
