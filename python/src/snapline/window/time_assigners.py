"""Windows of a fixed size: tumbling, sliding, cumulative."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from snapline.errors import InvalidConfiguration
from snapline.functions.time import no_time
from snapline.window.assigner import WindowAssigner, WindowAssignerContext
from snapline.window.span import Span, millis_of
from snapline.window.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from snapline.window.trigger import Trigger
from snapline.window.windows import TimeWindow

_LEAST = -(1 << 62)
T = TypeVar("T", bound="ByTime")


class ByTime(WindowAssigner[TimeWindow]):
    """Windows that go by the time of the row or of the micro-batch."""

    _by_event_time: bool

    def is_event_time(self) -> bool:
        return self._by_event_time

    def get_default_trigger(self, env: None = None) -> Trigger:
        return EventTimeTrigger() if self._by_event_time else ProcessingTimeTrigger()

    def _time(self, timestamp: int | None, context: WindowAssignerContext) -> int:
        if not self._by_event_time:
            return context.get_current_processing_time()
        if timestamp is None:
            raise no_time(type(self).__name__)
        return timestamp


class _Tumbling(ByTime):
    has_state = False

    def __init__(self, size: Span, offset: Span = 0) -> None:
        self._size = millis_of(size, f"the size of {type(self).__name__}")
        self._offset = millis_of(offset, f"the offset of {type(self).__name__}", least=_LEAST)
        # Rows that follow each other are mostly of one window.
        self._start: int | None = None
        self._last: Collection[TimeWindow] = ()
        if abs(self._offset) >= self._size:
            raise InvalidConfiguration(
                f"{self!r}: the offset is not less than the size.",
                "give an offset between minus the size and the size.",
            )

    @classmethod
    def of(cls: type[T], size: Span, offset: Span = 0) -> T:
        """Windows of ``size`` that begin at whole multiples of it since 1970, in UTC, plus the offset."""
        return cls(size, offset)  # type: ignore[call-arg]

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time = timestamp if self._by_event_time and timestamp is not None else self._time(timestamp, context)
        start = time - (time - self._offset) % self._size
        if start != self._start:
            self._start, self._last = start, (TimeWindow(start, start + self._size),)
        return self._last

    def window_that_ends(self, end: int) -> TimeWindow | None:
        return None if (end - self._offset) % self._size else TimeWindow(end - self._size, end)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_Tumbling):
    """Windows of one size, one after the other, by the time of the rows."""

    _by_event_time = True


class TumblingProcessingTimeWindows(_Tumbling):
    """The same by the time of the micro-batch."""

    _by_event_time = False


class _Sliding(ByTime):
    has_state = False

    def __init__(self, size: Span, slide: Span, offset: Span = 0) -> None:
        name = type(self).__name__
        self._size = millis_of(size, f"the size of {name}")
        self._slide = millis_of(slide, f"the slide of {name}")
        self._offset = millis_of(offset, f"the offset of {name}", least=_LEAST)
        # Times between two beginnings of windows are all in the same windows.
        self._is_regular = self._size % self._slide == 0
        self._start: int | None = None
        self._last: Collection[TimeWindow] = ()
        if abs(self._offset) >= self._slide:
            raise InvalidConfiguration(
                f"{self!r}: the offset is not less than the slide.",
                "give an offset between minus the slide and the slide.",
            )

    @classmethod
    def of(cls: type[T], size: Span, slide: Span, offset: Span = 0) -> T:
        """Windows of ``size``; one begins at each multiple of ``slide`` since 1970, in UTC, plus the offset."""
        return cls(size, slide, offset)  # type: ignore[call-arg]

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time, size, slide = self._time(timestamp, context), self._size, self._slide
        last = time - (time - self._offset) % slide
        if last != self._start or not self._is_regular:
            self._start = last
            self._last = [TimeWindow(start, start + size) for start in range(last, time - size, -slide)]
        return self._last

    def window_that_ends(self, end: int) -> TimeWindow | None:
        start = end - self._size
        return None if (start - self._offset) % self._slide else TimeWindow(start, end)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_Sliding):
    """Windows of one size that overlap, by the time of the rows."""

    _by_event_time = True


class SlidingProcessingTimeWindows(_Sliding):
    """The same by the time of the micro-batch."""

    _by_event_time = False


class _Cumulative(ByTime):
    has_state = False

    def __init__(self, size: Span, step: Span, offset: Span = 0) -> None:
        name = type(self).__name__
        self._size = millis_of(size, f"the size of {name}")
        self._step = millis_of(step, f"the step of {name}")
        self._offset = millis_of(offset, f"the offset of {name}", least=_LEAST)
        if self._size % self._step or abs(self._offset) >= self._size:
            raise InvalidConfiguration(
                f"{self!r}: the size is no multiple of the step, or the offset is not less than the size.",
                "give a step that the size is a multiple of, as an hour is of a minute.",
            )

    @classmethod
    def of(cls: type[T], size: Span, step: Span, offset: Span = 0) -> T:
        """Windows that begin together at each multiple of ``size``, and end one ``step`` after the other."""
        return cls(size, step, offset)  # type: ignore[call-arg]

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[TimeWindow]:
        time = self._time(timestamp, context)
        start = time - (time - self._offset) % self._size
        first = start + ((time - start) // self._step + 1) * self._step
        return [TimeWindow(start, end) for end in range(first, start + self._size + 1, self._step)]

    def window_that_ends(self, end: int) -> TimeWindow | None:
        last = end - 1
        start = last - (last - self._offset) % self._size
        return None if (end - start) % self._step else TimeWindow(start, end)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._step}, {self._offset})"


class CumulativeEventTimeWindows(_Cumulative):
    """Windows that begin together and end one step after the other, by the time of the rows."""

    _by_event_time = True


class CumulativeProcessingTimeWindows(_Cumulative):
    """The same by the time of the micro-batch."""

    _by_event_time = False
