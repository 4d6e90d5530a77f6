"""Keyed state as plain dicts, with the methods of the handles: what the worker's caches have to agree with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from snapline.state import StateTtlConfig, StateVisibility, UpdateType

ABSENT = object()


@dataclass
class Place:
    """Where the model is: the key and the time of the batch."""

    key: Any = None
    now: int = 0


@dataclass
class Ttl:
    """What a configuration comes to."""

    place: Place
    config: StateTtlConfig | None

    def expiry(self) -> int | None:
        return None if self.config is None else self.place.now + self.config.milliseconds

    def is_expired(self, expiry: int | None) -> bool:
        return expiry is not None and expiry <= self.place.now

    @property
    def refreshes(self) -> bool:
        return self.config is not None and self.config.update_type is UpdateType.ON_READ_AND_WRITE

    @property
    def shows_expired(self) -> bool:
        visibility = StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP
        return self.config is not None and self.config.visibility is visibility


@dataclass
class ModelValue:
    ttl: Ttl
    stored: dict[Any, tuple[Any, int | None]] = field(default_factory=dict)

    def value(self) -> Any:
        value, expiry = self.stored.get(self.ttl.place.key, (None, None))
        if value is None:
            return None
        if self.ttl.is_expired(expiry):
            self.clear()
            return value if self.ttl.shows_expired else None
        if self.ttl.refreshes:
            self.update(value)
        return value

    def update(self, value: Any) -> None:
        self.stored[self.ttl.place.key] = (value, self.ttl.expiry())

    def clear(self) -> None:
        self.stored.pop(self.ttl.place.key, None)

    def add(self, value: Any) -> None:
        before = self.value()
        self.update(value if before is None else before + value)

    def get(self) -> Any:
        return self.value()

    def clean_up(self) -> None:
        self.stored = {key: pair for key, pair in self.stored.items() if not self.ttl.is_expired(pair[1])}

    def of(self, key: Any) -> Any:
        return self.stored.get(key, (None,))[0]


@dataclass
class ModelList:
    ttl: Ttl
    stored: dict[Any, list[tuple[Any, int | None]]] = field(default_factory=dict)

    def _mine(self) -> list[tuple[Any, int | None]]:
        return self.stored.setdefault(self.ttl.place.key, [])

    def get(self) -> list[Any]:
        live = [value for value, expiry in self._mine() if not self.ttl.is_expired(expiry)]
        seen = [value for value, _ in self._mine()] if self.ttl.shows_expired else live
        if self.ttl.refreshes and live:
            self.update(live)
        return seen

    def add(self, value: Any) -> None:
        self._mine().append((value, self.ttl.expiry()))

    def add_all(self, values: list[Any]) -> None:
        for value in values:
            self.add(value)

    def update(self, values: list[Any]) -> None:
        self.stored[self.ttl.place.key] = [(value, self.ttl.expiry()) for value in values]

    def clear(self) -> None:
        self.update([])

    def clean_up(self) -> None:
        for key, pairs in self.stored.items():
            self.stored[key] = [pair for pair in pairs if not self.ttl.is_expired(pair[1])]

    def of(self, key: Any) -> Any:
        return [value for value, _ in self.stored.get(key, [])] or None


@dataclass
class ModelMap:
    ttl: Ttl
    stored: dict[Any, dict[Any, tuple[Any, int | None]]] = field(default_factory=dict)

    def _mine(self) -> dict[Any, tuple[Any, int | None]]:
        return self.stored.setdefault(self.ttl.place.key, {})

    def get(self, key: Any, default: Any = None) -> Any:
        value, expiry = self._mine().get(key, (ABSENT, None))
        if value is ABSENT:
            return default
        if self.ttl.is_expired(expiry):
            self.remove(key)
            return value if self.ttl.shows_expired else default
        if self.ttl.refreshes:
            self.put(key, value)
        return value

    def put(self, key: Any, value: Any) -> None:
        self._mine()[key] = (value, self.ttl.expiry())

    def remove(self, key: Any) -> None:
        self._mine().pop(key, None)

    def contains(self, key: Any) -> bool:
        return self.get(key, ABSENT) is not ABSENT

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self._still_there(list(self._mine()))

    def _still_there(self, keys: list[Any]) -> Iterator[tuple[Any, Any]]:
        for key in keys:
            value, expiry = self._mine().get(key, (ABSENT, None))
            if value is ABSENT:
                continue
            is_expired = self.ttl.is_expired(expiry)
            if not is_expired and self.ttl.refreshes:
                self.put(key, value)
            if not is_expired or self.ttl.shows_expired:
                yield key, value

    def clear(self) -> None:
        self._mine().clear()

    def clean_up(self) -> None:
        for key, entries in self.stored.items():
            self.stored[key] = {k: pair for k, pair in entries.items() if not self.ttl.is_expired(pair[1])}

    def of(self, key: Any) -> Any:
        return {k: value for k, (value, _) in self.stored.get(key, {}).items()} or None


class ModelTimers:
    """Registered timers of all keys: time and key by domain."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.registered: tuple[set[tuple[int, Any]], set[tuple[int, Any]]] = (set(), set())

    def register_event_time_timer(self, time: int) -> None:
        self.registered[0].add((time, self._place.key))

    def register_processing_time_timer(self, time: int) -> None:
        self.registered[1].add((time, self._place.key))

    def delete_event_time_timer(self, time: int) -> None:
        self.registered[0].discard((time, self._place.key))

    def delete_processing_time_timer(self, time: int) -> None:
        self.registered[1].discard((time, self._place.key))

    def earliest(self, domain: int, due: int) -> tuple[int, Any] | None:
        return min((timer for timer in self.registered[domain] if timer[0] <= due), default=None)
