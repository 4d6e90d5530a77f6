"""List state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from snapline.state.cursor import Cursor, TtlClock
from snapline.state.form import Form
from snapline.state.list_cache import APPENDED, ListCache, TtlListCache
from snapline.state.source import Entry
from snapline.state.ttl import StateTtlConfig, StateVisibility, UpdateType

T = TypeVar("T")


class ListState(Generic[T]):
    """A list per key. A list too long to be sent ahead is added to without being read."""

    __slots__ = ("_cache", "_cursor", "_dirty", "_exact", "_give", "_take", "_values")

    def __init__(self, cache: ListCache, cursor: Cursor, form: Form) -> None:
        self._exact, self._take, self._give = form.exact, form.take, form.give
        self._cursor = cursor
        self._cache = cache
        self._values = cache.values
        self._dirty = cache.dirty

    def get(self) -> Iterable[T]:
        """The elements as they are now: a copy, or page by page if the list was too long to be sent ahead.

        The pages are read within the call of the function: an error says so if they are asked for later.
        """
        slot = self._cursor.slot
        if self._cache.is_here[slot]:
            return self._given(self._values[slot])
        return self._stream(slot)

    def _given(self, kept: list[Any]) -> list[T]:
        give = self._give
        return kept.copy() if give is None else [give(each) for each in kept]

    def _taken(self, values: Iterable[T]) -> list[Any]:
        exact, take = self._exact, self._take
        return [value if type(value) is exact else take(value) for value in values]

    def _stream(self, slot: int) -> Iterator[T]:
        # A generator copies nothing before it is asked for an element: by then the list may have been changed.
        return self._in_pages(self._cache.pages(slot), self._values[slot].copy())

    def _in_pages(self, pages: Iterator[list[Entry]], added: list[Any]) -> Iterator[T]:
        for page in pages:
            yield from self._given([entry.value for entry in page])
        yield from self._given(added)

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def add(self, value: T) -> None:
        """Appends an element."""
        if type(value) is not self._exact:
            value = self._take(value)
        slot = self._cursor.slot
        self._values[slot].append(value)
        self._cache.grown += 1
        if not self._dirty[slot]:
            self._dirty[slot] = APPENDED

    def add_all(self, values: Iterable[T]) -> None:
        """Appends elements."""
        added = self._taken(values)
        slot = self._cursor.slot
        self._values[slot].extend(added)
        self._cache.grown += len(added)
        if not self._dirty[slot]:
            self._dirty[slot] = APPENDED

    def update(self, values: Iterable[T]) -> None:
        """Replaces the list."""
        self._cache.rewrite(self._cursor.slot, self._taken(values))

    def clear(self) -> None:
        """Deletes the list."""
        self._cache.rewrite(self._cursor.slot, [])


class TtlListState(ListState[T]):
    """A list whose elements expire one by one."""

    __slots__ = ("_clock", "_expiries", "_refreshes", "_shows_expired", "_ttl_cache")

    def __init__(self, cache: TtlListCache, cursor: Cursor, form: Form, ttl: StateTtlConfig, clock: TtlClock) -> None:
        super().__init__(cache, cursor, form)
        self._ttl_cache = cache
        self._expiries = cache.expiries
        self._clock = clock
        self._refreshes = ttl.update_type is UpdateType.ON_READ_AND_WRITE
        self._shows_expired = ttl.visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def get(self) -> Iterable[T]:
        slot = self._cursor.slot
        if self._refreshes and not self._cache.is_here[slot]:
            self._cache.load_whole(slot)  # every element is about to be written
        if not self._cache.is_here[slot]:
            return self._stream(slot)
        now = self._clock.now
        pairs = list(zip(self._values[slot], self._expiries[slot], strict=True))
        live = [value for value, expiry in pairs if expiry is None or expiry > now]
        seen = self._given(self._values[slot] if self._shows_expired else live)
        if self._refreshes and live:
            self._rewrite(live)
        return seen

    def _stream(self, slot: int) -> Iterator[T]:
        pages = self._live(self._cache.pages(slot), self._clock.now)
        return self._in_pages(pages, self._values[slot].copy())  # of this micro-batch: none has expired

    def _live(self, pages: Iterator[list[Entry]], now: int) -> Iterator[list[Entry]]:
        for page in pages:
            yield [each for each in page if self._shows_expired or each.expiry is None or each.expiry > now]

    def add(self, value: T) -> None:
        super().add(value)
        self._expiries[self._cursor.slot].append(self._clock.expiry())

    def add_all(self, values: Iterable[T]) -> None:
        slot = self._cursor.slot
        before = len(self._values[slot])
        super().add_all(values)
        self._expiries[slot].extend([self._clock.expiry()] * (len(self._values[slot]) - before))

    def update(self, values: Iterable[T]) -> None:
        self._rewrite(self._taken(values))

    def clear(self) -> None:
        self._rewrite([])

    def _rewrite(self, kept: list[Any]) -> None:
        slot = self._cursor.slot
        self._cache.rewrite(slot, kept)
        self._expiries[slot] = [self._clock.expiry()] * len(kept)
