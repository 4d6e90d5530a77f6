"""Timers that a function can list: each is an entry of a map of its key as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snapline.state.cursor import Cursor
from snapline.state.map import MapState
from snapline.worker.timers import Timer, Timers


class ListedTimers:
    """Timers of an epoch, and the map of those that each key has."""

    def __init__(self, timers: Timers, listed: MapState[tuple[int, int], bool], cursor: Cursor) -> None:
        self._timers = timers
        self._listed = listed
        self._cursor = cursor

    def register(self, slot: int, time: int, domain: int) -> None:
        self._timers.register(slot, time, domain)
        self._listed.put((domain, time), True)

    def delete(self, slot: int, time: int, domain: int) -> None:
        self._timers.delete(slot, time, domain)
        self._listed.remove((domain, time))

    def times(self, domain: int) -> list[int]:
        """The times of the current key's timers, in order."""
        return sorted(key[1] for key in self._listed.keys() if key[0] == domain)  # noqa: SIM118 (no dict)

    def fired(self, timers: Iterable[Timer]) -> Iterator[Timer]:
        """The timers, each off its key's list by then."""
        for timer in timers:
            time, domain, self._cursor.slot = timer
            self._listed.remove((domain, time))
            yield timer
