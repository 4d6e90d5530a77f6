"""Inputs and results of PyFlink's own tests of windows (flink-python, pyflink/datastream/tests/test_window.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from snapline.testing import KeyedTestHarness
from snapline.window import (
    CountSlidingWindowAssigner,
    EventTimeSessionWindows,
    ProcessWindowFunction,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowFunction,
)

from .harnesses import EPOCH, MS, at

TIMES = (1, 2, 3, 4, 5, 8, 9, 15)
COUNTED = ((1, "hi"), (2, "hello"), (3, "hi"), (4, "hello"), (5, "hi"), (6, "hello"))


class HowMany(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(key, len(list(elements)))]


class SumOfFirst(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return [(key, sum(row[0] for row in inputs))]


class GapOfTime(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return (element.t - EPOCH) // MS  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("assigner", "times", "expected"),
    [
        (TumblingEventTimeWindows.of(5), TIMES, [4, 3, 1]),
        (SlidingEventTimeWindows.of(5, 2), TIMES, [2, 4, 4, 3, 2, 2, 1, 1]),
        (EventTimeSessionWindows.with_gap(5), (1, 2, 3, 4, 8, 9, 15), [1, 6]),
        (EventTimeSessionWindows.with_dynamic_gap(GapOfTime()), (1, 2, 3, 4, 9, 9, 15), [3, 4]),
    ],
    ids=["tumbling", "sliding", "session", "session with a dynamic gap"],
)
def test_windows_of_time(assigner: Any, times: tuple[int, ...], expected: list[int]) -> None:
    with KeyedTestHarness.of_stream(
        lambda stream: stream.window(assigner).process(HowMany(), "key string, count int"),
        key="word",
        schema="word string, t timestamp",
        event_time="t",
    ) as harness:
        found = harness.process_bounded([("hi", at(time)) for time in times])
    assert sorted(found) == sorted(("hi", count) for count in expected)


@pytest.mark.parametrize(
    ("windows", "rows", "expected"),
    [
        (lambda stream: stream.count_window(3), (*COUNTED, (6, "hello")), [("hi", 9), ("hello", 12)]),
        (
            lambda stream: stream.window(CountSlidingWindowAssigner(2, 1)),
            COUNTED,
            [("hello", 6), ("hi", 8), ("hi", 4), ("hello", 10)],
        ),
    ],
    ids=["tumbling", "sliding"],
)
def test_windows_of_counts(windows: Callable[[Any], Any], rows: Any, expected: list[tuple[str, int]]) -> None:
    with KeyedTestHarness.of_stream(
        lambda stream: windows(stream).apply(SumOfFirst(), "key string, sum int"),
        key="word",
        schema="number int, word string",
    ) as harness:
        assert sorted(harness.process_bounded(rows)) == sorted(expected)
