"""Value state."""

from __future__ import annotations

from typing import Generic, TypeVar

from snapline.state.cursor import Cursor, TtlClock
from snapline.state.form import Form, same
from snapline.state.ttl import StateTtlConfig, StateVisibility, UpdateType
from snapline.state.value_cache import TtlValueCache, ValueCache

T = TypeVar("T")


class ValueState(Generic[T]):
    """One value per key.

    Only :meth:`update` changes the state: to what the value is at the time of the call. An object that ``value()`` gave
    and that is changed in place changes nothing here.
    """

    __slots__ = ("_cursor", "_dirty", "_exact", "_take", "_values")

    def __init__(self, cache: ValueCache, cursor: Cursor, form: Form) -> None:
        self._cursor = cursor
        self._values = cache.values
        self._dirty = cache.dirty
        self._exact = form.exact
        self._take = form.take

    def value(self) -> T | None:
        """The value of the current key; None if there is none."""
        return self._values[self._cursor.slot]  # type: ignore[no-any-return]

    def update(self, value: T | None) -> None:
        """Sets the value; None deletes it."""
        if type(value) is not self._exact:
            value = self._take(value)
        slot = self._cursor.slot
        self._values[slot] = value
        self._dirty[slot] = 1

    def clear(self) -> None:
        """Deletes the value."""
        slot = self._cursor.slot
        self._values[slot] = None
        self._dirty[slot] = 1


class CopiedValueState(ValueState[T]):
    """One whose values could be changed in place."""

    __slots__ = ("_give",)

    def __init__(self, cache: ValueCache, cursor: Cursor, form: Form) -> None:
        super().__init__(cache, cursor, form)
        self._give = form.give or same

    def value(self) -> T | None:
        return self._give(self._values[self._cursor.slot])  # type: ignore[no-any-return]


class TtlValueState(ValueState[T]):
    """A value that expires. As in Flink, reading an expired value deletes it, whether or not it is shown."""

    __slots__ = ("_clock", "_expiries", "_give", "_refreshes", "_shows_expired")

    def __init__(self, cache: TtlValueCache, cursor: Cursor, form: Form, ttl: StateTtlConfig, clock: TtlClock) -> None:
        super().__init__(cache, cursor, form)
        self._give = form.give or same
        self._expiries = cache.expiries
        self._clock = clock
        self._refreshes = ttl.update_type is UpdateType.ON_READ_AND_WRITE
        self._shows_expired = ttl.visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP

    def value(self) -> T | None:
        slot = self._cursor.slot
        kept = self._values[slot]
        if kept is None:
            return None
        expiry = self._expiries[slot]
        if expiry is not None and expiry <= self._clock.now:
            self._set(None)
            return self._give(kept) if self._shows_expired else None
        if self._refreshes:
            self._set(kept)
        return self._give(kept)  # type: ignore[no-any-return]

    def update(self, value: T | None) -> None:
        if type(value) is not self._exact:
            value = self._take(value)
        self._set(value)

    def _set(self, value: T | None) -> None:
        slot = self._cursor.slot
        self._values[slot] = value
        self._expiries[slot] = None if value is None else self._clock.expiry()
        self._dirty[slot] = 1

    def clear(self) -> None:
        self._set(None)
