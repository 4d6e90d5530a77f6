"""Sessions: windows that end when a key has been quiet for a while."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.window.assigner import MergeCallback, MergingWindowAssigner, WindowAssignerContext
from snapline.window.span import Span, millis_of
from snapline.window.time_assigners import ByTime
from snapline.window.windows import TimeWindow


class SessionWindowTimeGapExtractor(ABC):
    """Says for each row how long its session waits for another. A plain function of a row does as well."""

    @abstractmethod
    def extract(self, element: Any) -> Span:
        """The gap: a timedelta, or ms."""


class _Sessions(ByTime, MergingWindowAssigner[TimeWindow]):
    has_state = False
    merges_spans = True

    def __init__(self, gap: Span | SessionWindowTimeGapExtractor | Callable[[Any], Span]) -> None:
        self._extract: Callable[[Any], Span] | None = None
        self._gap = 0
        if isinstance(gap, SessionWindowTimeGapExtractor):
            self._extract = gap.extract
        elif callable(gap):
            self._extract = gap
        else:
            self._gap = millis_of(gap, f"the gap of {type(self).__name__}")

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time = self._time(timestamp, context)
        gap = self._gap if self._extract is None else millis_of(self._extract(element), "the gap of a row")
        return (TimeWindow(time, time + gap),)

    def merge_windows(self, windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
        merge_spans(windows, callback)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._extract or self._gap})"


def merge_spans(windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
    """Merges those that overlap or touch."""
    together: list[TimeWindow] = []
    whole: TimeWindow | None = None
    for window in sorted(windows):
        if whole is not None and whole.intersects(window):
            whole = whole.cover(window)
            together.append(window)
            continue
        if whole is not None and len(together) > 1:
            callback.merge(together, whole)
        whole, together = window, [window]
    if whole is not None and len(together) > 1:
        callback.merge(together, whole)


class EventTimeSessionWindows(_Sessions):
    """Sessions by the time of the rows."""

    _by_event_time = True

    @classmethod
    def with_gap(cls, size: Span) -> EventTimeSessionWindows:
        """A session ends when no row has come for the gap."""
        return cls(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], Span],
    ) -> DynamicEventTimeSessionWindows:
        """The same with a gap that each row says for itself."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_Sessions):
    """Sessions by the time of the micro-batches."""

    _by_event_time = False

    @classmethod
    def with_gap(cls, size: Span) -> ProcessingTimeSessionWindows:
        """A session ends when no row has come for the gap."""
        return cls(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], Span],
    ) -> DynamicProcessingTimeSessionWindows:
        """The same with a gap that each row says for itself."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_Sessions):
    """Sessions by the time of the rows, each of which says its gap."""

    _by_event_time = True

    def __init__(self, extractor: SessionWindowTimeGapExtractor | Callable[[Any], Span]) -> None:
        if not callable(extractor) and not isinstance(extractor, SessionWindowTimeGapExtractor):
            raise InvalidConfiguration(
                f"a dynamic gap that is {extractor!r}.", "give a function of a row, or a SessionWindowTimeGapExtractor."
            )
        super().__init__(extractor)


class DynamicProcessingTimeSessionWindows(DynamicEventTimeSessionWindows):
    """Sessions by the time of the micro-batches, whose gap each row says."""

    _by_event_time = False
