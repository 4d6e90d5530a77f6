"""Map state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from snapline.state.cursor import Cursor, TtlClock
from snapline.state.form import Form
from snapline.state.map_cache import MapCache, TtlMapCache
from snapline.state.source import Entry
from snapline.state.ttl import StateTtlConfig, StateVisibility, UpdateType

K = TypeVar("K")
V = TypeVar("V")

#: In the place of a value where there is no entry: None may be a value.
_ABSENT: Any = object()


class MapState(Generic[K, V]):
    """A map per key, used like a dict or with Flink's names. A value may be None, unless it is a struct.

    Keys are those of the store: what a call is given for one is brought into the form that ``keys()`` has.
    """

    __slots__ = ("_cache", "_changed", "_cursor", "_entries", "_exact", "_exact_key", "_give", "_take", "_take_key")

    def __init__(self, cache: MapCache, cursor: Cursor, key: Form, value: Form) -> None:
        self._exact_key, self._take_key = key.exact, key.take
        self._exact, self._take, self._give = value.exact, value.take, value.give
        self._cursor = cursor
        self._cache = cache
        self._entries = cache.entries
        self._changed = cache.changed

    def get(self, key: K, default: V | None = None) -> V | None:
        """The value of an entry, or the default."""
        if type(key) is not self._exact_key:
            key = self._take_key(key)
        slot = self._cursor.slot
        kept = self._entries[slot].get(key)
        if kept is None:
            if not self._has(slot, key):
                return default
            kept = self._entries[slot][key]
        give = self._give
        return kept if give is None else give(kept)  # type: ignore[no-any-return]

    def _has(self, slot: int, key: K) -> bool:
        return key in self._entries[slot] or self._cache.find(slot, key)

    def get_all(self, keys: Iterable[K]) -> dict[K, V | None]:
        """Those of these entries that exist; what was not sent ahead is fetched at once."""
        slot = self._cursor.slot
        wanted = [self._key(key) for key in keys]
        self._cache.find_all(slot, wanted)
        return {key: self._value(slot, key) for key in wanted if self._has(slot, key)}

    def _key(self, key: Any) -> Any:
        return key if type(key) is self._exact_key else self._take_key(key)

    def _value(self, slot: int, key: K) -> V | None:
        kept, give = self._entries[slot][key], self._give
        return kept if give is None else give(kept)  # type: ignore[no-any-return]

    def put(self, key: K, value: V | None) -> None:
        """Sets an entry."""
        if type(key) is not self._exact_key:
            key = self._take_key(key)
        if type(value) is not self._exact:
            value = self._take(value)
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
        self._remove(self._key(key))

    def _remove(self, key: K) -> None:
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
        return self._has(self._cursor.slot, self._key(key))

    def items(self) -> Iterator[tuple[K, V | None]]:
        """All entries that there are now, in no order; of a map that was not sent ahead page by page.

        An entry that is removed meanwhile is not shown, and one that is put may not be. The pages are read within the
        call of the function: an error says so if they are asked for later.
        """
        slot, give = self._cursor.slot, self._give
        if not self._cache.is_whole[slot]:
            stream = self._cache.stream(slot)
            return ((entry.key, entry.value if give is None else give(entry.value)) for entry in stream)
        entries = self._entries[slot]
        if give is None:
            return ((key, entries[key]) for key in list(entries) if key in entries)
        return ((key, give(entries[key])) for key in list(entries) if key in entries)

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
        slot, found = self._cursor.slot, self._key(key)
        if not self._has(slot, found):
            raise KeyError(key)
        return self._value(slot, found)

    def __setitem__(self, key: K, value: V | None) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        if not self.contains(key):
            raise KeyError(key)
        self.remove(key)


class TtlMapState(MapState[K, V]):
    """A map whose entries expire one by one. As in Flink, reading an expired entry removes it."""

    __slots__ = ("_clock", "_expiries", "_refreshes", "_shows_expired")

    def __init__(
        self, cache: TtlMapCache, cursor: Cursor, key: Form, value: Form, ttl: StateTtlConfig, clock: TtlClock
    ) -> None:
        super().__init__(cache, cursor, key, value)
        self._expiries = cache.expiries
        self._clock = clock
        self._refreshes = ttl.update_type is UpdateType.ON_READ_AND_WRITE
        self._shows_expired = ttl.visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def get(self, key: K, default: V | None = None) -> V | None:
        kept, give = self._read(self._key(key)), self._give
        if kept is _ABSENT:
            return default
        return kept if give is None else give(kept)  # type: ignore[no-any-return]

    def contains(self, key: K) -> bool:
        return self._read(self._key(key)) is not _ABSENT

    def _read(self, key: K) -> Any:
        """The entry as it is kept. As in Flink, whoever asks whether it is there has read it too."""
        slot = self._cursor.slot
        if not super()._has(slot, key):
            return _ABSENT
        kept = self._entries[slot][key]
        if self._is_expired(self._expiries[slot][key]):
            self._remove(key)
            return kept if self._shows_expired else _ABSENT
        if self._refreshes:
            self._refresh(slot, key, kept)
        return kept

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
        kept, give = self._read(self._key(key)), self._give
        if kept is _ABSENT:
            raise KeyError(key)
        return kept if give is None else give(kept)  # type: ignore[no-any-return]

    def put(self, key: K, value: V | None) -> None:
        key = self._key(key)
        super().put(key, value)
        self._expiries[self._cursor.slot][key] = self._clock.expiry()

    def _refresh(self, slot: int, key: K, kept: Any) -> None:
        """Writes anew what there is; the cursor is there."""
        self._cache.write(slot, key, kept)
        self._expiries[slot][key] = self._clock.expiry()

    def items(self) -> Iterator[tuple[K, V | None]]:
        slot = self._cursor.slot
        is_whole = self._cache.is_whole[slot]
        return self._visible(slot, self._cache.all_of(slot) if is_whole else self._cache.stream(slot))

    def _visible(self, slot: int, entries: Iterator[Entry]) -> Iterator[tuple[K, V | None]]:
        give = self._give
        for key, kept, expiry in entries:
            if self._is_expired(expiry):
                if not self._shows_expired:
                    continue
            elif self._refreshes and self._cursor.slot == slot and key not in (self._changed[slot] or ()):
                self._refresh(slot, key, kept)
            yield key, kept if give is None else give(kept)
