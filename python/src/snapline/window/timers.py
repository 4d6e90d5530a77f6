"""Timers of windows: those of the store have a key and a time, and the windows have to be found by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from snapline.functions.context import EVENT, RuntimeContext, TimerService
from snapline.state.cursor import NEVER
from snapline.state.descriptors import MapStateDescriptor
from snapline.state.map import MapState
from snapline.window.assigner import WindowAssigner
from snapline.window.keys import WindowKeys
from snapline.window.merging import MergingWindowSet
from snapline.window.windows import Window


class WindowTimers(ABC):
    """The timers of the windows of the current key.

    Attributes:
        service: the timers of the key; set before anything else is called.
        follow: whether a window that grows keeps its timer, which finds the new end by itself.
    """

    service: TimerService
    follow: ClassVar[bool] = False

    def open(self, ctx: RuntimeContext) -> None:  # noqa: B027
        """Asks for state; most need none."""

    def register(self, window: Window, time: int, domain: int) -> None:
        """Sets a timer of a window. One at the end of all times is none."""
        if time == NEVER:
            return
        if domain == EVENT:
            self.service.register_event_time_timer(time)
        else:
            self.service.register_processing_time_timer(time)

    @abstractmethod
    def delete(self, window: Window, time: int, domain: int) -> None:
        """Takes back a timer of a window, or leaves one that is not minded."""

    @abstractmethod
    def due(self, time: int, domain: int) -> Iterable[Window]:
        """The windows that have a timer at this time, which is over; maybe some that have none any more."""

    def _remove(self, time: int, domain: int) -> None:
        if domain == EVENT:
            self.service.delete_event_time_timer(time)
        else:
            self.service.delete_processing_time_timer(time)


def _ends(time: int, domain: int, lateness: int) -> set[int]:
    """The last ms of windows that may have a timer at this time. Lateness is a matter of event time alone."""
    return {time, time - lateness} if domain == EVENT else {time}


class EndTimers(WindowTimers):
    """All timers are at the last ms of a window, or that much later; the assigner knows the window by its end."""

    def __init__(self, assigner: WindowAssigner[Any], lateness: int) -> None:
        self._assigner = assigner
        self._lateness = lateness

    def delete(self, window: Window, time: int, domain: int) -> None:
        # Another window may have a timer at this time. Those of a window that is gone find nothing when they fire.
        return

    def due(self, time: int, domain: int) -> Iterable[Window]:
        found = {self._assigner.window_that_ends(last + 1) for last in _ends(time, domain, self._lateness)}
        return [window for window in found if window is not None]


class SetTimers(WindowTimers):
    """The same where windows merge: the windows that there are say which ends."""

    def __init__(self, windows: MergingWindowSet, lateness: int) -> None:
        self._windows = windows
        self._lateness = lateness

    def delete(self, window: Window, time: int, domain: int) -> None:
        if not any(each != window for each in self.due(time, domain)):
            self._remove(time, domain)

    def due(self, time: int, domain: int) -> Iterable[Window]:
        ends = _ends(time, domain, self._lateness)
        return [window for window in self._windows.windows if window.max_timestamp() in ends]


class FollowingTimers(WindowTimers):
    """The same where a window that has ended takes no more rows: a timer that comes too early moves to the end.

    Every window has a timer at or before its end, and not before its start. A session that grows with every row would
    take back a timer and set another each time.
    """

    follow = True

    def __init__(self, windows: MergingWindowSet) -> None:
        self._windows = windows

    def delete(self, window: Window, time: int, domain: int) -> None:
        return

    def due(self, time: int, domain: int) -> Iterable[Window]:
        ended: list[Any] = []
        for window in self._windows.windows:
            last = window.max_timestamp()
            if last == time:
                ended.append(window)
            elif window.start <= time < last:
                self.register(window, last, domain)
        return ended


class MappedTimers(WindowTimers):
    """Any timers: a map of the key says which windows each is for."""

    def __init__(self, keys: WindowKeys) -> None:
        self._keys = keys

    def open(self, ctx: RuntimeContext) -> None:
        descriptor = MapStateDescriptor[Any, Any](
            "window-timers", "struct<domain: int, time: long>", f"array<{self._keys.stored_as}>"
        )
        self._timers: MapState[Any, Any] = ctx.get_map_state(descriptor)

    def register(self, window: Window, time: int, domain: int) -> None:
        if time == NEVER:
            return
        key, at = self._keys.key(window), (domain, time)
        there = self._timers.get(at) or ()
        if key not in there:
            self._timers.put(at, [*there, key])
            super().register(window, time, domain)

    def delete(self, window: Window, time: int, domain: int) -> None:
        key, at = self._keys.key(window), (domain, time)
        there = self._timers.get(at) or ()
        left = [each for each in there if each != key]
        if len(left) == len(there):
            return
        if left:
            self._timers.put(at, left)
        else:
            self._timers.remove(at)
            self._remove(time, domain)

    def due(self, time: int, domain: int) -> Iterable[Window]:
        at = (domain, time)
        there = self._timers.get(at) or ()
        self._timers.remove(at)
        return [self._keys.window(key) for key in there]
