"""Functions of windows: state, side outputs, what they are given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from snapline import AggregateFunction, OutputTag, ReducingStateDescriptor, StateTtlConfig, ValueStateDescriptor
from snapline.errors import SnaplineError
from snapline.window import (
    EventTimeSessionWindows,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowFunction,
)

from .harnesses import at, harness_of, rows

BIG = OutputTag("big", "k string, v long")
FIRINGS = ValueStateDescriptor[int]("firings", "long")
WINDOWS = ReducingStateDescriptor[int]("windows", lambda a, b: a + b, "long")


class Counted(ProcessWindowFunction):
    """How often a window has fired, how many windows of the key have, and all values of the key."""

    def open(self, ctx: Any) -> None:
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, "long"))
        self.calls = ctx.get_metrics_group().counter("calls")

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        self.calls.inc()
        of_window, of_key = context.window_state().get_state(FIRINGS), context.global_state()
        windows = of_key.get_reducing_state(WINDOWS)
        if of_window.value() is None:
            windows.add(1)
        of_window.update((of_window.value() or 0) + 1)
        for row in elements:
            self.total.add(row.v)
            if row.v > 5:
                yield BIG, (key, row.v)
        yield key, of_window.value(), windows.get(), self.total.get(), context.current_watermark()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(FIRINGS).clear()


def test_a_function_has_state_of_the_window_and_of_the_key() -> None:
    with harness_of(
        lambda stream: (
            stream.window(TumblingEventTimeWindows.of(10))
            .allowed_lateness(20)
            .process(Counted(), "k string, n long, windows long, total long, mark long", side_outputs=[BIG])
        )
    ) as harness:
        assert harness.process_batch(rows(("a", 1, 3), ("a", 7, 12))) == []
        assert harness.advance_watermark(at(15)) == [("a", 1, 1, 1, 15)]
        assert harness.process_batch(rows(("a", 2, 4))) == [("a", 2, 1, 4, 15)]
        assert harness.advance_watermark(at(20)) == [("a", 1, 2, 11, 20)]
        assert harness.side_output(BIG) == [("a", 7)]
        assert harness.metrics["calls"] == 3
        harness.advance_watermark(at(50))
        assert harness.num_keys("window-state") == 0
        assert harness.state("global-state", "a") == {"windows": 2}


def test_sessions_have_no_state_of_their_own() -> None:
    with harness_of(
        lambda stream: stream.window(EventTimeSessionWindows.with_gap(10)).process(
            Counted(), "k string, n long, windows long, total long, mark long", side_outputs=[BIG]
        )
    ) as harness:
        harness.process_batch(rows(("a", 1, 3)))
        with pytest.raises(SnaplineError, match="state firings of windows that merge"):
            harness.advance_watermark(at(50))


class Lives(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        context.window_state().get_state(ValueStateDescriptor("x", "long", ttl=StateTtlConfig(timedelta(days=1))))


def test_state_of_a_window_has_no_time_to_live() -> None:
    with harness_of(
        lambda stream: stream.window(TumblingEventTimeWindows.of(10)).process(Lives(), "k string")
    ) as harness:
        harness.process_batch(rows(("a", 1, 3)))
        with pytest.raises(SnaplineError, match="value state x of a window has the option ttl"):
            harness.advance_watermark(at(50))


class Mean(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value.v, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, accumulator1: Any, accumulator2: Any) -> Any:
        return accumulator1[0] + accumulator2[0], accumulator1[1] + accumulator2[1]


ACCUMULATOR = "struct<sum: long, count: long>"


class Described(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        (mean,) = elements
        return [(key, context.window().end, mean)]


def test_an_aggregate_keeps_its_accumulator_and_not_the_rows() -> None:
    with harness_of(
        lambda stream: stream.window(SlidingEventTimeWindows.of(10, 5)).aggregate(
            Mean(), Described(), "k string, e long, mean double", accumulator_type=ACCUMULATOR
        )
    ) as harness:
        harness.process_batch(rows(("a", 1, 1), ("a", 2, 6)))
        stored = harness.state("window-contents", "a")
        assert {tuple(key): tuple(value) for key, value in stored.items()} == {
            (-5, 5): (1, 1),
            (0, 10): (3, 2),
            (5, 15): (2, 1),
        }
        assert harness.advance_watermark(at(99)) == [("a", 5, 1.0), ("a", 10, 1.5), ("a", 15, 2.0)]


def test_accumulators_of_sessions_merge() -> None:
    with harness_of(
        lambda stream: stream.window(EventTimeSessionWindows.with_gap(5)).aggregate(
            Mean(), output_type="mean double", accumulator_type=ACCUMULATOR, with_window=True
        )
    ) as harness:
        harness.process_batch(rows(("a", 1, 0), ("a", 5, 8)))
        harness.process_batch(rows(("a", 3, 4)))
        assert harness.advance_watermark(at(99)) == [("a", 3.0, at(0), at(13))]
        assert harness.num_keys("window-contents") == harness.num_keys("merging-window-set") == 0


class Joined(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return [(key, window.start, sum(row.v for row in inputs))]


def test_a_window_function_has_no_context() -> None:
    with harness_of(
        lambda stream: stream.window(TumblingEventTimeWindows.of(10)).reduce(
            lambda a, b: (a.k, a.v + b.v, a.t), Joined(), "k string, s long, v long"
        )
    ) as harness:
        harness.process_batch(rows(("a", 1, 1), ("a", 2, 6), ("a", 4, 11)))
        assert harness.advance_watermark(at(99)) == [("a", 0, 3), ("a", 10, 4)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", ("a", 12, at(1))),
        ("min", ("a", 2, at(1))),
        ("max", ("a", 6, at(1))),
        ("min_by", ("a", 2, at(3))),
        ("max_by", ("a", 6, at(4))),
    ],
)
def test_functions_of_a_column(name: str, expected: tuple[Any, ...]) -> None:
    with harness_of(lambda stream: getattr(stream.window(TumblingEventTimeWindows.of(10)), name)("v")) as harness:
        harness.process_batch(rows(("a", None, 1), ("a", 4, 2), ("a", 2, 3), ("a", 6, 4), ("a", None, 5)))  # type: ignore[arg-type]
        assert harness.advance_watermark(at(99)) == [expected]


def test_late_rows_are_counted() -> None:
    with harness_of(lambda stream: stream.window(TumblingEventTimeWindows.of(10)).sum("v")) as harness:
        harness.advance_watermark(at(15))
        # Behind the watermark, and in time for the window that has not ended.
        harness.process_batch(rows(("a", 1, 3), ("a", 2, 12), ("a", 4, 16)))
        assert [row.v for row in harness.advance_watermark(at(30))] == [6]
        assert harness.metrics["numLateRecordsDropped"] == 1
