"""Pickled values in memory: what cannot be changed as it is, all else as bytes until it is asked for."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from pyspark import cloudpickle

from snapline.state.row import Row

#: The types whose values nobody can change.
_ATOMS = {type(None), bool, int, float, complex, str, bytes, date, datetime, time, timedelta, Decimal, UUID}
_ALL_ATOMS = _ATOMS.issuperset
_CANNOT = (pickle.PicklingError, AttributeError, TypeError)


class Pickle(bytes):
    """A value as the store has it."""

    __slots__ = ()


class Held:
    """A copy of a value that only cloudpickle can pickle, which costs too much to be done at each call."""

    def __init__(self, value: Any) -> None:
        self.value = value


def pickled_form_parts() -> tuple[Callable[[Any], Any], ...]:
    """Functions of a form: take, give, own, keep, copy."""
    return _Taken().take, give, own, _kept, copy


def is_frozen(value: Any) -> bool:
    """Whether nobody can change the value."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    return (kind is tuple or kind is frozenset or isinstance(value, Row)) and (
        _ALL_ATOMS(map(type, value)) or all(map(is_frozen, value))
    )


class _Taken:
    """Takes values of one state; once one of them was of a class that pickle cannot find, it does not ask again."""

    def __init__(self) -> None:
        self._holds = False

    def take(self, value: Any) -> Any:
        if is_frozen(value):
            return value
        if not self._holds:
            try:
                return Pickle(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
            except _CANNOT:
                self._holds = True
        return Held(deepcopy(value))


def give(kept: Any) -> Any:
    if type(kept) is Pickle:
        return pickle.loads(kept)
    return deepcopy(kept.value) if type(kept) is Held else copy(kept)


def own(kept: Any) -> Any:
    if type(kept) is Pickle:
        return pickle.loads(kept)
    return kept.value if type(kept) is Held else kept


def _kept(value: Any) -> Any:
    return value


def copy(value: Any) -> Any:
    """A value that nobody changes by changing the other; the same one if nobody can change it at all."""
    if is_frozen(value):
        return value
    try:
        return pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except _CANNOT:
        return deepcopy(value)


def kept_form(pickled: bytes) -> Pickle | Held:
    """The kept form of a value of the store."""
    return Held(pickle.loads(pickled)) if b"cloudpickle" in pickled else Pickle(pickled)


def dumps(kept: Any) -> bytes:
    """The bytes for the store."""
    if type(kept) is Pickle:
        return kept
    value = own(kept)
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except _CANNOT:
        # The value's class came with the function, and is in no module here.
        found: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
        return found
