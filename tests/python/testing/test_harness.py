from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from snapline import (
    PICKLED,
    AggregateFunction,
    AggregatingStateDescriptor,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ReducingStateDescriptor,
    StateTtlConfig,
    TtlTime,
    UpdateType,
    ValueStateDescriptor,
)
from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedTestHarness

FLIGHTS = "tail string, delay long, dest string, at timestamp"
EARLY = OutputTag("early", "tail string, delay long")
TEN = datetime(2020, 1, 1, 10)


class Delays(KeyedProcessFunction):
    """The total delay of a plane; six hours after a flight it is told that the plane is idle."""

    def open(self, ctx: Any) -> None:
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, "long"))
        self.last = ctx.get_state(ValueStateDescriptor("last", "struct<dest:string,at:timestamp>"))
        self.rows = ctx.get_metrics_group().counter("rows")
        ctx.get_metrics_group().gauge("index", ctx.get_index_of_this_subtask)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        if (last := self.last.value()) is not None:
            timers.delete_event_time_timer(last.at + timedelta(hours=6))
        self.last.update((row.dest, row.at))
        timers.register_event_time_timer(row.at + timedelta(hours=6))
        self.total.add(row.delay)
        self.rows.inc()
        if row.delay < 0:
            ctx.output(EARLY, (ctx.get_current_key(), row.delay))
        yield row.tail, self.total.get()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert ctx.timestamp() == timestamp <= ctx.current_watermark()
        assert ctx.timer_service().to_datetime(timestamp) == self.last.value().at + timedelta(hours=6)
        yield ctx.get_current_key(), -1


def delays(**more: Any) -> KeyedTestHarness:
    return KeyedTestHarness(
        Delays(),
        key="tail",
        schema=FLIGHTS,
        output="tail string, total long",
        event_time="at",
        side_outputs=[EARLY],
        **more,
    )


@pytest.mark.parametrize("time_zone", ["UTC", "America/New_York", "+05:30"])
def test_rows_timers_side_outputs_and_metrics(time_zone: str) -> None:
    with delays(time_zone=time_zone) as harness:
        assert harness.process_batch([("N1", 5, "JFK", TEN), ("N2", -1, "LAX", TEN)]) == [("N1", 5), ("N2", -1)]
        assert harness.process([{"tail": "N1", "delay": 2, "dest": "SFO", "at": TEN + timedelta(hours=1)}]) == [
            ("N1", 7)
        ]
        assert (harness.state("total", "N1"), harness.state("last", "N1").dest) == (7, "SFO")
        assert (harness.state("total", "N3"), harness.num_keys("total"), harness.num_timers("event")) == (None, 2, 2)
        assert harness.advance_watermark(TEN + timedelta(hours=6)) == [("N2", -1)]
        assert harness.advance_watermark(TEN + timedelta(hours=7)) == [("N1", -1)]
        assert harness.num_timers() == 0
        assert harness.output() == [("N1", 5), ("N2", -1), ("N1", 7), ("N2", -1), ("N1", -1)]
        assert (harness.side_output(EARLY), harness.metrics) == ([("N2", -1)], {"rows": 3, "index": 0})


def test_late_rows_are_dropped_counted_and_diverted() -> None:
    with delays(late_output="late") as harness:
        harness.advance_watermark(TEN)
        assert harness.process_batch([("N1", 5, "JFK", TEN), ("N1", 6, "JFK", TEN + timedelta(seconds=1))]) == [
            ("N1", 6)
        ]
        assert (harness.late_rows, harness.side_output("late")) == (1, [("N1", 5, "JFK", TEN)])


def test_rows_are_late_by_the_watermark_before_them() -> None:
    with delays() as harness:
        harness.set_times(watermark=TEN)
        assert harness.process_batch([("N1", 5, "JFK", TEN)]) == [("N1", 5)]
        assert (harness.process_batch([("N1", 6, "JFK", TEN)]), harness.late_rows) == ([], 1)


def test_at_the_end_of_bounded_rows_every_timer_fires() -> None:
    with delays() as harness:
        assert harness.process_bounded([("N1", 5, "JFK", TEN), ("N2", 1, "JFK", TEN)])[2:] == [("N1", -1), ("N2", -1)]


class Again(KeyedProcessFunction):
    """Each of its timers sets others."""

    lists_timers = True

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.fired = 0

    def set_timer(self, time: int, ctx: Any) -> None:
        timers = ctx.timer_service()
        if self.domain == "event":
            timers.register_event_time_timer(time)
        else:
            timers.register_processing_time_timer(time)

    def process_element(self, row: Any, ctx: Any) -> None:
        self.set_timer(row.n, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        self.fired += 1
        assert self.fired < 9, "they go on for ever"
        self.set_timer(timestamp + 3_600_000, ctx)
        self.set_timer(ctx.timer_service().current_processing_time() + 1000, ctx)
        yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize("domain", ["event", "processing"])
def test_timers_that_a_callback_sets_at_that_end_are_dropped(domain: str, caplog: pytest.LogCaptureFixture) -> None:
    with KeyedTestHarness(Again(domain), key="k", schema="k string, n long", output="k string, t long") as harness:
        assert harness.process_bounded([("a", 5), ("b", 7)]) == [("a", 5), ("b", 7)]
        assert (harness.num_timers(), harness.num_keys("__timers")) == (0, 0)
    (said,) = caplog.messages
    assert said.startswith("Again sets a timer when another one fires.")


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_snapshot_is_taken_up_by_another_harness(on_disk: bool, tmp_path: Path) -> None:
    with delays(path=tmp_path / "a" if on_disk else None) as harness:
        harness.process_batch([("N1", 5, "JFK", TEN)])
        harness.advance_processing_time(77)
        snapshot = harness.snapshot()
        harness.process_batch([("N1", 5, "JFK", TEN), ("N2", 5, "JFK", TEN)])
        harness.restore(snapshot)
        assert (harness.num_keys("total"), harness.state("total", "N1"), harness.num_timers()) == (1, 5, 1)
    with delays(path=tmp_path / "b" if on_disk else None) as other:
        other.restore(snapshot)
        assert other.process_batch([("N1", 1, "LAX", TEN)]) == [("N1", 6)]


def test_state_on_disk_stays(tmp_path: Path) -> None:
    for total in (5, 10):
        with delays(path=tmp_path) as harness:
            assert harness.process_batch([("N1", 5, "JFK", TEN)]) == [("N1", total)]


def test_attributes_of_the_function_are_no_state() -> None:
    class Remembers(KeyedProcessFunction):
        seen = 0

        def process_element(self, row: Any, ctx: Any) -> Any:
            self.seen += 1
            yield (self.seen,)

    with KeyedTestHarness(Remembers(), key="k", schema="k long", output="n long") as harness:
        assert harness.process([(1,)] * 4, batch_size=2) == [(1,), (2,), (1,), (2,)]


class Mean(AggregateFunction[int, Any, float]):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: int, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator[0] / accumulator[1])

    def merge(self, accumulator1: Any, accumulator2: Any) -> Any:
        return accumulator1[0] + accumulator2[0], accumulator1[1] + accumulator2[1]


class Windows(KeyedProcessFunction):
    """States with namespaces: a window per key."""

    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value", "long", namespace="long"))
        self.list = ctx.get_list_state(ListStateDescriptor("list", PICKLED, namespace="long"))
        self.map = ctx.get_map_state(MapStateDescriptor("map", "string", "long", namespace="long"))
        self.sum = ctx.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b, "long", namespace="timestamp")
        )
        self.mean = ctx.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), "struct<sum:long,n:long>", namespace="long")
        )

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        for state in (self.value, self.list, self.map, self.mean):
            state.set_current_namespace(row.window)
        self.sum.set_current_namespace(TEN + timedelta(hours=row.window))
        if row.n < 0:
            self.mean.merge_namespaces(row.window, [0, 1, 2])
            self.sum.merge_namespaces(TEN, [TEN + timedelta(hours=h) for h in range(3)])
            self.map.clear()
            self.list.clear()
            self.value.clear()
        else:
            self.value.update((self.value.value() or 0) + row.n)
            self.list.add({row.n})
            self.map["n"] = row.n
            self.map.put("m", 0)
            self.mean.add(row.n)
            self.sum.add(row.n)
        yield row.k, self.mean.get(), sorted(self.map), [min(each) for each in self.list.get()]


def test_namespaces() -> None:
    schema, output = "k string, window long, n long", "k string, mean double, keys array<string>, list array<long>"
    with KeyedTestHarness(Windows(), key="k", schema=schema, output=output) as harness:
        rows = harness.process([("a", 0, 5), ("a", 1, 7), ("a", 0, 3), ("b", 0, 1)], batch_size=2)
        assert rows == [
            ("a", 5.0, ["m", "n"], [5]),
            ("a", 7.0, ["m", "n"], [7]),
            ("a", 4.0, ["m", "n"], [5, 3]),
            ("b", 1.0, ["m", "n"], [1]),
        ]
        assert harness.state("value", "a") == {0: 8, 1: 7}
        assert harness.state("map", "a") == {(0, "n"): 3, (0, "m"): 0, (1, "n"): 7, (1, "m"): 0}
        assert harness.process_batch([("a", 1, -1)]) == [("a", 5.0, [], [])]
        assert harness.state("mean", "a") == {1: (15, 3)}
        assert harness.state("sum", "a") == {TEN: 15}
        assert harness.state("list", "a") == {0: [{5}, {3}]}


def test_merging_needs_namespaces() -> None:
    class Merges(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            ttl = StateTtlConfig(timedelta(1))
            self.sum = ctx.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, "long", ttl=ttl))

        def process_element(self, row: Any, ctx: Any) -> Any:
            self.sum.merge_namespaces(0, [1])

    with (
        KeyedTestHarness(Merges(), key="k", schema="k long", output="n long") as harness,
        pytest.raises(Exception, match="the state has no namespaces"),
    ):
        harness.process_batch([(1,)])


class Visits(KeyedProcessFunction):
    def __init__(self, ttl: StateTtlConfig) -> None:
        self.ttl = ttl

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(ValueStateDescriptor("last", "long", ttl=self.ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        yield row.k, self.last.value()
        if row.n is not None:
            self.last.update(row.n)


def visits(ttl: StateTtlConfig, **more: Any) -> KeyedTestHarness:
    return KeyedTestHarness(
        Visits(ttl), key="k", schema="k long, n long, at timestamp", output="k long, last long", **more
    )


def test_a_value_in_processing_time_lives_from_the_batch_that_wrote_it() -> None:
    with visits(StateTtlConfig(timedelta(seconds=10))) as harness:
        harness.advance_processing_time(1000)
        harness.process_batch([(1, 5, None)])
        harness.advance_processing_time(10_999)
        assert harness.process_batch([(1, None, None)]) == [(1, 5)]
        harness.advance_processing_time(11_000)
        assert (harness.num_keys("last"), harness.process_batch([(1, None, None)])) == (0, [(1, None)])


def test_reading_may_begin_the_time_anew() -> None:
    with visits(StateTtlConfig(timedelta(seconds=10), update_type=UpdateType.ON_READ_AND_WRITE)) as harness:
        harness.process_batch([(1, 5, None)])
        for now in (9_000, 18_000, 27_000):
            harness.advance_processing_time(now)
            assert harness.process_batch([(1, None, None)]) == [(1, 5)]


def test_a_value_in_event_time_lives_from_the_time_of_its_row() -> None:
    ttl = StateTtlConfig(timedelta(hours=2), time=TtlTime.EVENT_TIME)
    with visits(ttl, event_time="at") as harness:
        # The watermark of a first batch is 1970: what lived from there would be gone with the second.
        harness.process_batch([(1, 5, TEN)])
        harness.advance_watermark(TEN + timedelta(hours=1))
        assert harness.process_batch([(1, None, TEN + timedelta(hours=2))]) == [(1, 5)]
        harness.advance_watermark(TEN + timedelta(hours=2))
        assert harness.num_keys("last") == 0
    with visits(ttl, event_time="at") as harness:
        assert harness.process_bounded([(1, 5, TEN), (1, 6, TEN)]) == [(1, None), (1, 5)]


def test_a_watermark_needs_a_time() -> None:
    with (
        visits(StateTtlConfig(timedelta(1))) as harness,
        pytest.raises(InvalidConfiguration, match="without event_time"),
    ):
        harness.advance_watermark(5)


def test_tiny_bounds_change_nothing() -> None:
    rows = [(f"N{i % 3}", i, "JFK", TEN + timedelta(minutes=i)) for i in range(20)]
    with delays() as whole, delays(bounds=Bounds(chunk_rows=2, max_keys=1, max_prefetch=0)) as cut:
        assert whole.process_batch(rows) == cut.process_batch(rows)
