"""Python values into Arrow columns. An error about a value names column, type and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from snapline.functions.errors import FunctionFailed
from snapline.functions.time import zone_of
from snapline.functions.zoned import micros_of, times_of
from snapline.state.row import by_position
from snapline.state.wall_clock import EPOCH, WallClock

Encoder = Callable[[Sequence[Any]], pa.Array]

_WRONG = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, KeyError)


def encoder(kind: pa.DataType) -> Encoder:
    """The function that turns lists into arrays of this type; it raises one of many errors if a value does not fit."""
    types = pa.types
    if types.is_integer(kind):
        return _integers(kind)
    if types.is_timestamp(kind):
        return _times(kind)
    if types.is_struct(kind):
        return _structs(kind)
    if types.is_map(kind):
        return _maps(kind)
    if types.is_list(kind):
        return _lists(kind)
    return lambda values: pa.array(values, kind)


class ColumnEncoder:
    """An encoder that says what is wrong.

    Raises:
        FunctionFailed: a value does not fit the type.
    """

    def __init__(self, what: str, kind: pa.DataType) -> None:
        self._what = what
        self._type = kind
        self._encode = encoder(kind)

    def __call__(self, values: Sequence[Any]) -> pa.Array:
        try:
            return self._encode(values)
        except _WRONG as e:
            raise self._error(values, e) from e

    def _error(self, values: Sequence[Any], cause: Exception) -> FunctionFailed:
        for value in values:
            try:
                self._encode([value])
            except _WRONG as e:
                return FunctionFailed(
                    f"{self._what} is of type {self._type}, and was given {value!r:.200}, a {type(value).__name__} "
                    f"({e}).",
                    "give a value of that type, or change the type.",
                )
        return FunctionFailed(
            f"{self._what} is of type {self._type}, and its values do not go together ({cause}).",
            "give values of that type, or change the type.",
        )


def _part(what: str, kind: pa.DataType) -> Encoder:
    """An encoder of what is inside values: the whole value is told with the column, and this is why it does not fit."""
    encode = encoder(kind)

    def encode_part(values: Sequence[Any]) -> pa.Array:
        try:
            return encode(values)
        except _WRONG as e:
            raise ValueError(f"{what}: {e}") from e

    return encode_part


def _integers(kind: pa.DataType) -> Encoder:
    def encode(values: Sequence[Any]) -> pa.Array:
        kinds = set(map(type, values))
        if kinds == _INT:
            with suppress(OverflowError):
                return pa.array(np.array(values, np.int64)).cast(kind)
        # numpy would take True for 1 beside numbers, and pyarrow would cut 1.5 down to 1.
        for of in kinds:
            if issubclass(of, (bool, np.bool_)):
                raise TypeError("a truth value for a number")
            if issubclass(of, (float, np.floating)):
                raise TypeError("a number with a fraction for a whole one")
        return pa.array(values, kind)

    return encode


_INT = {int}


def _times(kind: pa.TimestampType) -> Encoder:
    """Naive datetimes are local to the time zone of the type.

    The difference to 1970 in Python and the rest in numpy costs a quarter of what pyarrow takes for datetimes.
    """
    zone = zone_of(kind.tz) if kind.tz is not None else None
    clock = None if zone is None else WallClock(zone)

    def encode(values: Sequence[Any]) -> pa.Array:
        try:
            times = pa.array([None if v is None else v - EPOCH for v in values], pa.duration("us"))
        except TypeError:
            return pa.array([_aware(value, zone) for value in values], pa.timestamp("us", "UTC")).cast(kind)
        if clock is None:
            return times.view(kind)
        instants, doubtful, others = clock.instants(micros_of(times))
        for i, other in zip(doubtful, others, strict=False):
            if getattr(values[i], "fold", 0):
                instants[i] = other
        return times_of(instants, times, kind)

    return encode


def _aware(value: Any, zone: Any) -> datetime | None:
    """Some of the values have a time zone, or are no datetimes at all."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise TypeError("no datetime")
    return value if value.tzinfo is not None else value.replace(tzinfo=zone or timezone.utc)


def _structs(kind: pa.StructType) -> Encoder:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    encoders = [_part(f"field {field.name}", field.type) for field in fields]
    names = [field.name for field in fields]
    nothing = (None,) * len(names)

    def encode(values: Sequence[Any]) -> pa.Array:
        mask = None
        if None in values:
            mask = pa.array([value is None for value in values])
            values = [nothing if value is None else value for value in values]
        columns = transpose(values, names)
        arrays = [encode(column) for encode, column in zip(encoders, columns, strict=True)]
        if not arrays:
            return pa.array([{}] * len(values), kind).filter(pa.array([True] * len(values)))
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)

    return encode


def transpose(rows: Sequence[Any], names: Sequence[str]) -> list[Sequence[Any]]:
    """Rows into columns: tuples and lists by position, dicts and rows with these names by name."""
    if not rows:
        return [[] for _ in names]
    if any(kind is not tuple and kind is not list for kind in set(map(type, rows))):
        rows = [by_position(row, names) for row in rows]
    if len(rows[0]) == len(names):
        # Rows that are not all as long as the first are told by zip, which is cheaper than to ask each.
        with suppress(ValueError):
            return list(zip(*rows, strict=True))
    wrong = next(row for row in rows if len(row) != len(names))
    raise ValueError(f"{len(wrong)} values where {len(names)} belong ({', '.join(names)}): {wrong!r:.200}")


def _offsets(values: Sequence[Any]) -> pa.Array:
    lengths = np.fromiter((0 if value is None else len(value) for value in values), np.int64, len(values))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    is_null = np.fromiter((value is None for value in values), bool, len(values))
    return pa.array(ends.astype(np.int32), mask=np.append(is_null, False))


def _lists(kind: pa.ListType) -> Encoder:
    element = _part("an element", kind.value_type)

    def encode(values: Sequence[Any]) -> pa.Array:
        if any(isinstance(value, (str, bytes, Mapping)) for value in values):
            raise TypeError("no list")
        elements = element([each for value in values if value is not None for each in value])
        return pa.ListArray.from_arrays(_offsets(values), elements, type=kind)

    return encode


def _maps(kind: pa.MapType) -> Encoder:
    key, item = _part("a key", kind.key_type), _part("a value", kind.item_type)

    def encode(values: Sequence[Any]) -> pa.Array:
        maps = [value for value in values if value is not None]
        keys = key([each for value in maps for each in value])
        items = item([each for value in maps for each in value.values()])
        return pa.MapArray.from_arrays(_offsets(values), keys, items, type=kind)

    return encode
