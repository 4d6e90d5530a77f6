from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from snapline.errors import InvalidConfiguration
from snapline.window import (
    CountSlidingWindowAssigner,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    GlobalWindow,
    GlobalWindows,
    MergeCallback,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
    WindowAssignerContext,
)

HOUR = timedelta(hours=1)


class At(WindowAssignerContext):
    def __init__(self, time: int) -> None:
        self._time = time

    def get_current_processing_time(self) -> int:
        return self._time

    def get_runtime_context(self) -> Any:
        raise AssertionError("no state is asked for")


def spans(assigner: WindowAssigner[Any], time: int, now: int = 0) -> list[tuple[int, int]]:
    return [tuple(window) for window in assigner.assign_windows(None, time, At(now))]


@pytest.mark.parametrize(
    ("assigner", "time", "expected"),
    [
        (TumblingEventTimeWindows.of(5), 14, [(10, 15)]),
        (TumblingEventTimeWindows.of(5), 15, [(15, 20)]),
        (TumblingEventTimeWindows.of(5), -1, [(-5, 0)]),
        (TumblingEventTimeWindows.of(5, 2), 1, [(-3, 2)]),
        (TumblingEventTimeWindows.of(5, -1), 4, [(4, 9)]),
        (TumblingEventTimeWindows.of(HOUR, timedelta(minutes=15)), 0, [(-2_700_000, 900_000)]),
        (SlidingEventTimeWindows.of(5, 2), 4, [(4, 9), (2, 7), (0, 5)]),
        (SlidingEventTimeWindows.of(4, 4), 4, [(4, 8)]),
        (SlidingEventTimeWindows.of(2, 5), 3, []),
        (SlidingEventTimeWindows.of(6, 3, 1), 3, [(1, 7), (-2, 4)]),
        (CumulativeEventTimeWindows.of(6, 2), 7, [(6, 8), (6, 10), (6, 12)]),
        (CumulativeEventTimeWindows.of(6, 2), 11, [(6, 12)]),
        (EventTimeSessionWindows.with_gap(10), 3, [(3, 13)]),
    ],
    ids=repr,
)
def test_windows_of_a_time(assigner: WindowAssigner[Any], time: int, expected: list[tuple[int, int]]) -> None:
    assert spans(assigner, time) == expected


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(5, 2),
        SlidingEventTimeWindows.of(7, 3, -1),
        SlidingEventTimeWindows.of(3, 5),
        CumulativeEventTimeWindows.of(9, 3, 4),
    ],
    ids=repr,
)
def test_a_window_is_known_by_its_end(assigner: WindowAssigner[Any]) -> None:
    windows = {window for time in range(-30, 30) for window in assigner.assign_windows(None, time, At(0))}
    ends = {window.end: window for window in windows}
    assert len(ends) == len(windows), "two windows have one end"
    for end in range(-15, 15):
        assert assigner.window_that_ends(end) == ends.get(end)


def test_processing_time_is_that_of_the_micro_batch() -> None:
    assert spans(TumblingProcessingTimeWindows.of(5), 99, now=7) == [(5, 10)]
    assert spans(SlidingProcessingTimeWindows.of(4, 2), 99, now=7) == [(6, 10), (4, 8)]


def test_a_row_without_a_time_has_no_window() -> None:
    for assigner in (TumblingEventTimeWindows.of(5), EventTimeSessionWindows.with_gap(5)):
        with pytest.raises(ValueError, match="the row has no time"):
            assigner.assign_windows(None, None, At(0))


def test_sessions_that_touch_are_one() -> None:
    merged: list[tuple[list[TimeWindow], TimeWindow]] = []
    callback = MergeCallback(lambda windows, result: merged.append((list(windows), result)))
    spans = [(20, 25), (1, 5), (5, 9), (30, 31), (8, 10), (24, 26)]
    EventTimeSessionWindows.with_gap(1).merge_windows([TimeWindow(*span) for span in spans], callback)
    assert merged == [
        ([TimeWindow(1, 5), TimeWindow(5, 9), TimeWindow(8, 10)], TimeWindow(1, 10)),
        ([TimeWindow(20, 25), TimeWindow(24, 26)], TimeWindow(20, 26)),
    ]


def test_a_window_is_equal_to_itself_alone() -> None:
    assert GlobalWindow.get() == GlobalWindow()
    assert len({TimeWindow(1, 2), TimeWindow(1, 2), TimeWindow(1, 3)}) == 2
    assert TimeWindow(3, 5).max_timestamp() == 4
    assert TimeWindow(0, 5).cover(TimeWindow(9, 10)) == TimeWindow(0, 10)
    assert TimeWindow.get_window_start_with_offset(7, 0, 5) == 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows.of(0),
        lambda: TumblingEventTimeWindows.of(5, 5),
        lambda: TumblingEventTimeWindows.of(1.5),  # type: ignore[arg-type]
        lambda: TumblingEventTimeWindows.of(timedelta(microseconds=1500)),
        lambda: SlidingEventTimeWindows.of(5, 0),
        lambda: SlidingEventTimeWindows.of(5, 2, 2),
        lambda: CumulativeEventTimeWindows.of(5, 2),
        lambda: EventTimeSessionWindows.with_gap(0),
        lambda: EventTimeSessionWindows.with_dynamic_gap(5),  # type: ignore[arg-type]
        lambda: CountSlidingWindowAssigner.of(2, 0),
        lambda: CountSlidingWindowAssigner.of(True, 1),
    ],
)
def test_windows_that_cannot_be(make: Any) -> None:
    with pytest.raises(InvalidConfiguration):
        make()


def test_global_windows_are_one() -> None:
    assert list(GlobalWindows.create().assign_windows(None, 5, At(0))) == [GlobalWindow()]
