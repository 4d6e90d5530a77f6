"""Single values as a store gives them back, whatever they were given as."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_float
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Context, Decimal
from math import isnan, nan
from operator import index
from typing import Any, Final

import numpy as np
from pyspark.sql import types as t

from snapline.state.wall_clock import WallClock, is_regular, repeated_key

Take = Callable[[Any], Any]

#: The only NaN among keys. Python's are not equal to themselves, but a dict finds the same object again.
NAN: Final = nan


class Never:
    """The type of no value: in the place of a type whose values can be taken as they are."""


def scalar(kind: t.DataType, zone: tzinfo | None, is_key: bool) -> tuple[type, Take] | None:
    """The type whose values are taken as they are, and the function that makes others fit; None for types with parts.

    The function never gets None. It raises TypeError, ValueError or OverflowError.
    """
    if isinstance(kind, t.LongType):
        return int, _integer(64)
    if isinstance(kind, (t.ByteType, t.ShortType, t.IntegerType)):
        return Never, _integer({t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32}[type(kind)])
    if isinstance(kind, t.DoubleType):
        return (Never, _float_key(_double)) if is_key else (float, _double)
    if isinstance(kind, t.FloatType):
        return Never, _float_key(_float) if is_key else _float
    if isinstance(kind, t.DecimalType):
        return Never, _decimal(kind)
    if isinstance(kind, (t.TimestampType, t.TimestampNTZType)):
        return Never, _timestamp(zone if isinstance(kind, t.TimestampType) else None, is_key)
    for of, found in _SIMPLE.items():
        if isinstance(kind, of):
            return found
    return None


def _integer(bits: int) -> Take:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def take(value: Any) -> int:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError("a truth value for a number")
        if isinstance(value, Decimal) and value == value.to_integral_value():
            value = int(value)
        number = index(value)
        if not low <= number <= high:
            raise OverflowError(f"it has more than {bits} bits")
        return number

    return take


def _double(value: Any) -> float:
    if isinstance(value, (float, np.floating)):
        return float(value)
    number = _whole(value)
    found = float(number)
    if int(found) != number:
        raise ValueError("no double is equal to it")
    return found


def _float(value: Any) -> float:
    if isinstance(value, (float, np.floating)):
        return c_float(float(value)).value
    number = _whole(value)
    found = c_float(number).value
    if int(found) != number:
        raise ValueError("no float is equal to it")
    return found


def _whole(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("a truth value for a number")
    return index(value)


def _float_key(take: Take) -> Take:
    """As Spark groups: there is one NaN, and no negative zero."""

    def take_key(value: Any) -> float:
        found: float = take(value)
        return NAN if isnan(found) else found + 0.0

    return take_key


def _decimal(kind: t.DecimalType) -> Take:
    unit, limit = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)
    context = Context(prec=2 * kind.precision + 38)

    def take(value: Any) -> Decimal:
        if not isinstance(value, Decimal):
            value = Decimal(_whole(value))
        if not value.is_finite():
            raise ValueError("no number")
        found = value.quantize(unit, context=context)
        if found != value or abs(found) >= limit:
            raise ValueError(f"it has more digits than {kind.simpleString()}")
        return found if found else unit * 0

    return take


def _timestamp(zone: tzinfo | None, is_key: bool) -> Take:
    """Naive datetimes on the clock of the zone; None is UTC, and that of time stamps without a zone."""
    clock = None if zone is None else WallClock(zone)

    def take(value: Any) -> datetime | None:
        if type(value) is not datetime:
            if value != value:
                return None  # NaT of pandas
            value = _datetime(value)
        if value.tzinfo is None:
            if not value.fold and (zone is None or is_regular(zone, value.toordinal())):
                return value  # type: ignore[no-any-return]
            value = value.replace(fold=0) if clock is None else clock.canonical(value)
        else:
            zoned: datetime = value
            value = zoned.astimezone(timezone.utc).replace(tzinfo=None, fold=0) if clock is None else clock.of(zoned)
        return repeated_key(value) if is_key else value

    return take


def _datetime(value: Any) -> datetime:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if not isinstance(value, datetime):
        raise TypeError("no datetime")
    # pandas has a class of its own, and so may anybody.
    return datetime.combine(date(value.year, value.month, value.day), value.timetz()).replace(fold=value.fold)


def _date(value: Any) -> date:
    """The day that a datetime shows, whatever its time zone."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[D]").item()
    if not isinstance(value, date):
        raise TypeError("no date")
    return date(value.year, value.month, value.day)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return value.decode()
    raise TypeError("no text")


def _binary(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError("no bytes")


def _boolean(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError("no truth value")


def _interval(value: Any) -> timedelta:
    if isinstance(value, np.timedelta64):
        value = value.astype("timedelta64[us]").item()
    if isinstance(value, timedelta):
        return timedelta(value.days, value.seconds, value.microseconds)
    return timedelta(microseconds=_whole(value))


def _time(value: Any) -> time:
    if not isinstance(value, time):
        raise TypeError("no time")
    return value.replace(tzinfo=None, fold=0)


def _nothing(value: Any) -> None:
    raise TypeError("the type has no values")


_SIMPLE: dict[type[t.DataType], tuple[type, Take]] = {
    t.StringType: (str, _string),
    t.CharType: (str, _string),
    t.VarcharType: (str, _string),
    t.BinaryType: (bytes, _binary),
    t.DateType: (date, _date),
    t.BooleanType: (bool, _boolean),
    t.DayTimeIntervalType: (timedelta, _interval),
    t.TimeType: (Never, _time),
    t.NullType: (type(None), _nothing),
}
