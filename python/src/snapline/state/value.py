"""Value state."""

from __future__ import annotations

from typing import Generic, TypeVar

from snapline.state.cursor import Cursor, TtlClock
from snapline.state.ttl import StateTtlConfig, StateVisibility, UpdateType
from snapline.state.value_cache import TtlValueCache, ValueCache

T = TypeVar("T")


class ValueState(Generic[T]):
    """One value per key.

    Only :meth:`update` changes the state. An object that ``value()`` gave and that is changed in place is not stored;
    whether a later ``value()`` of the same micro-batch shows that change is undefined.
    """

    __slots__ = ("_cursor", "_dirty", "_values")

    def __init__(self, cache: ValueCache, cursor: Cursor) -> None:
        self._cursor = cursor
        self._values = cache.values
        self._dirty = cache.dirty

    def value(self) -> T | None:
        """The value of the current key; None if there is none."""
        return self._values[self._cursor.slot]  # type: ignore[no-any-return]

    def update(self, value: T | None) -> None:
        """Sets the value; None deletes it."""
        slot = self._cursor.slot
        self._values[slot] = value
        self._dirty[slot] = 1

    def clear(self) -> None:
        """Deletes the value."""
        slot = self._cursor.slot
        self._values[slot] = None
        self._dirty[slot] = 1


class TtlValueState(ValueState[T]):
    """A value that expires. As in Flink, reading an expired value deletes it, whether or not it is shown."""

    __slots__ = ("_clock", "_expiries", "_refreshes", "_shows_expired")

    def __init__(self, cache: TtlValueCache, cursor: Cursor, ttl: StateTtlConfig, clock: TtlClock) -> None:
        super().__init__(cache, cursor)
        self._expiries = cache.expiries
        self._clock = clock
        self._refreshes = ttl.update_type is UpdateType.ON_READ_AND_WRITE
        self._shows_expired = ttl.visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def value(self) -> T | None:
        slot = self._cursor.slot
        value: T | None = self._values[slot]
        if value is None:
            return None
        expiry = self._expiries[slot]
        if expiry is not None and expiry <= self._clock.now:
            self.clear()
            return value if self._shows_expired else None
        if self._refreshes:
            self.update(value)
        return value

    def update(self, value: T | None) -> None:
        slot = self._cursor.slot
        self._values[slot] = value
        self._expiries[slot] = None if value is None else self._clock.expiry()
        self._dirty[slot] = 1

    def clear(self) -> None:
        self.update(None)
