"""Timers at the end of a bounded DataFrame, where every timer fires."""

from __future__ import annotations

import logging

from snapline.functions.context import TimerSink

_log = logging.getLogger(__name__)


class DroppedTimers:
    """Says once in the log that timers are dropped."""

    __slots__ = ("_has_told", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._has_told = False

    def tell(self) -> None:
        if not self._has_told:
            self._has_told = True
            _log.warning(
                "%s sets a timer when another one fires. At the end of a bounded DataFrame, where every timer fires, "
                "such timers are dropped: one that sets itself again would go on for ever.",
                self._name,
            )


class EndingTimers:
    """The timers of a bounded DataFrame, without those that a callback sets at its end, which Flink drops too.

    Every timer fires there, so that one which sets itself again would go on for ever.
    """

    __slots__ = ("_dropped", "_has_ended", "_timers")

    def __init__(self, timers: TimerSink, name: str) -> None:
        self._timers = timers
        self._dropped = DroppedTimers(name)
        self._has_ended = False

    def end(self) -> None:
        """The rows are through, and timers fire."""
        self._has_ended = True

    def register(self, slot: int, time: int, domain: int) -> None:
        if self._has_ended:
            self._dropped.tell()
        else:
            self._timers.register(slot, time, domain)

    def delete(self, slot: int, time: int, domain: int) -> None:
        self._timers.delete(slot, time, domain)

    def times(self, domain: int) -> list[int]:
        return self._timers.times(domain)
