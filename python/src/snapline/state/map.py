"""Map state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from snapline.state.cursor import Cursor, TtlClock
from snapline.state.map_cache import MapCache, TtlMapCache
from snapline.state.ttl import StateTtlConfig, StateVisibility, UpdateType

K = TypeVar("K")
V = TypeVar("V")


class MapState(Generic[K, V]):
    """A map per key, used like a dict or with Flink's names. A value may be None."""

    __slots__ = ("_cache", "_changed", "_cursor", "_entries")

    def __init__(self, cache: MapCache, cursor: Cursor) -> None:
        self._cursor = cursor
        self._cache = cache
        self._entries = cache.entries
        self._changed = cache.changed

    def get(self, key: K, default: V | None = None) -> V | None:
        """The value of an entry, or the default."""
        slot = self._cursor.slot
        value: V | None = self._entries[slot].get(key)
        if value is not None:
            return value
        return default if not self._has(slot, key) else self._entries[slot][key]

    def _has(self, slot: int, key: K) -> bool:
        return key in self._entries[slot] or self._cache.find(slot, key)

    def get_all(self, keys: Iterable[K]) -> dict[K, V | None]:
        """Those of these entries that exist; what was not sent ahead is fetched at once."""
        slot = self._cursor.slot
        wanted = list(keys)
        self._cache.find_all(slot, wanted)
        return {key: self._entries[slot][key] for key in wanted if self._has(slot, key)}

    def put(self, key: K, value: V | None) -> None:
        """Sets an entry."""
        slot = self._cursor.slot
        self._entries[slot][key] = value
        changed = self._changed[slot]
        if changed is None:
            self._changed[slot] = {key}
            self._cache.grown += 1
        elif key not in changed:
            changed.add(key)
            self._cache.grown += 1

    def put_all(self, entries: Mapping[K, V | None]) -> None:
        """Sets entries."""
        for key, value in entries.items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Removes an entry, if there is one."""
        slot = self._cursor.slot
        self._entries[slot].pop(key, None)
        changed = self._changed[slot]
        if changed is None:
            self._changed[slot] = {key}
            self._cache.grown += 1
        elif key not in changed:
            changed.add(key)
            self._cache.grown += 1

    def contains(self, key: K) -> bool:
        """Whether there is such an entry."""
        return self._has(self._cursor.slot, key)

    def items(self) -> Iterator[tuple[K, V | None]]:
        """All entries, in no order; of a map that was not sent ahead page by page."""
        slot = self._cursor.slot
        if self._cache.is_whole[slot]:
            return iter(list(self._entries[slot].items()))
        return ((entry.key, entry.value) for entry in self._cache.stream(slot))

    def keys(self) -> Iterator[K]:
        """All keys, in no order."""
        return (key for key, _ in self.items())

    def values(self) -> Iterator[V | None]:
        """All values, in no order."""
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return next(self.items(), None) is None

    def clear(self) -> None:
        """Removes all entries."""
        self._cache.clear(self._cursor.slot)

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def __bool__(self) -> bool:
        return not self.is_empty()

    def __contains__(self, key: object) -> bool:
        return self.contains(key)  # type: ignore[arg-type]

    def __getitem__(self, key: K) -> V | None:
        slot = self._cursor.slot
        if not self._has(slot, key):
            raise KeyError(key)
        return self._entries[slot][key]  # type: ignore[no-any-return]

    def __setitem__(self, key: K, value: V | None) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        if not self.contains(key):
            raise KeyError(key)
        self.remove(key)


class TtlMapState(MapState[K, V]):
    """A map whose entries expire one by one. As in Flink, reading an expired entry removes it."""

    __slots__ = ("_clock", "_expiries", "_refreshes", "_shows_expired")

    def __init__(self, cache: TtlMapCache, cursor: Cursor, ttl: StateTtlConfig, clock: TtlClock) -> None:
        super().__init__(cache, cursor)
        self._expiries = cache.expiries
        self._clock = clock
        self._refreshes = ttl.update_type is UpdateType.ON_READ_AND_WRITE
        self._shows_expired = ttl.visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def get(self, key: K, default: V | None = None) -> V | None:
        slot = self._cursor.slot
        if not super()._has(slot, key):
            return default
        value: V | None = self._entries[slot][key]
        if self._is_expired(self._expiries[slot][key]):
            self.remove(key)
            return value if self._shows_expired else default
        if self._refreshes:
            self.put(key, value)
        return value

    def _is_expired(self, expiry: int | None) -> bool:
        return expiry is not None and expiry <= self._clock.now

    def _has(self, slot: int, key: K) -> bool:
        if not super()._has(slot, key):
            return False
        return self._shows_expired or not self._is_expired(self._expiries[slot][key])

    def get_all(self, keys: Iterable[K]) -> dict[K, V | None]:
        found = super().get_all(keys)
        return {key: self.get(key) for key in found}

    def __getitem__(self, key: K) -> V | None:
        if not self.contains(key):
            raise KeyError(key)
        return self.get(key)

    def put(self, key: K, value: V | None) -> None:
        super().put(key, value)
        self._expiries[self._cursor.slot][key] = self._clock.expiry()

    def items(self) -> Iterator[tuple[K, V | None]]:
        slot = self._cursor.slot
        if not self._cache.is_whole[slot]:
            entries: Iterator[Any] = self._cache.stream(slot)
        else:
            expiries = self._expiries[slot]
            entries = iter([(key, value, expiries[key]) for key, value in self._entries[slot].items()])
        return self._visible(slot, entries)

    def _visible(self, slot: int, entries: Iterator[Any]) -> Iterator[tuple[K, V | None]]:
        for key, value, expiry in entries:
            if self._is_expired(expiry):
                if self._shows_expired:
                    yield key, value
                continue
            if self._refreshes and self._cursor.slot == slot and key not in (self._changed[slot] or ()):
                self.put(key, value)
            yield key, value
