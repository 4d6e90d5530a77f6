"""Windows: what the rows of a key are put into."""

from __future__ import annotations

from typing import NamedTuple

from snapline.state.cursor import NEVER


class Window:
    """A finite set of the rows of a key. Two windows are one if they are equal; they can be keys of a dict."""

    __slots__ = ()

    def max_timestamp(self) -> int:
        """The last ms that belongs to the window; the greatest number of 64 bits if it does not end by time."""
        raise NotImplementedError


class _Span(NamedTuple):
    start: int
    end: int


class TimeWindow(_Span, Window):
    """From ``start`` (in it) to ``end`` (not in it), in ms since 1970."""

    __slots__ = ()

    def max_timestamp(self) -> int:
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether they overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that both lie in."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start, in ms, of the window of this size that the time lies in."""
        return timestamp - (timestamp - offset) % window_size


class _Number(NamedTuple):
    id: int


class CountWindow(_Number, Window):
    """The window number ``id`` of a key."""

    __slots__ = ()

    def max_timestamp(self) -> int:
        return NEVER


class GlobalWindow(Window):
    """The one window of all rows of a key."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The window: there is one."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        return NEVER

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow()"


_GLOBAL = GlobalWindow()
