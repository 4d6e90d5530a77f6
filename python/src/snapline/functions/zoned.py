"""Columns of time stamps: with the session's time zone, and naive in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snapline.functions.time import zone_of
from snapline.state.wall_clock import WallClock


def micros_of(times: pa.Array) -> Any:
    """Microseconds, in an array of numpy; where there is nothing, one of the others."""
    micros = times.cast(pa.int64())
    if micros.null_count:
        # A time farther away would have the clock looked up for years that no value is of.
        micros = micros.fill_null(pc.min(micros).as_py() or 0)
    return micros.to_numpy()


def times_of(micros: Any, like: pa.Array, kind: pa.TimestampType) -> pa.Array:
    """The reverse, with nulls where another array has them."""
    mask = like.is_null().to_numpy(zero_copy_only=False) if like.null_count else None
    return pa.array(micros, pa.int64(), mask=mask).view(kind)


def to_naive(column: pa.Array) -> pa.Array:
    """Time stamps with a time zone as the clock there shows them. The halves of a doubled hour are then alike."""
    zone = zone_of(column.type.tz)
    micros = micros_of(column.cast(pa.timestamp("us", column.type.tz)))
    return times_of(micros if zone is None else WallClock(zone).local(micros)[0], column, pa.timestamp("us"))


def to_zoned(column: pa.Array, tz: str) -> pa.Array:
    """Naive time stamps with the time zone that they are of: those of a doubled hour are of its first half."""
    zone = zone_of(tz)
    micros = micros_of(column.cast(pa.timestamp("us"), safe=False))
    instants = micros if zone is None else WallClock(zone).instants(micros)[0]
    return times_of(instants, column, pa.timestamp("us", tz))


def converted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in another type. Naive time stamps are of the time zone that the type names, inside values too.

    Digits beyond the unit of the type are cut off, as they are of single values.

    Raises:
        ArrowException: a value does not fit the type.
    """
    if column.type == kind:
        return column
    return _moved(pc.cast(column, options=pc.CastOptions(kind, allow_time_truncate=True)), column.type)


def _moved(column: pa.Array, given: pa.DataType) -> pa.Array:
    """A column that Arrow has cast from the given type: it takes naive time stamps, and days, for those of UTC."""
    kind, types = column.type, pa.types
    if types.is_dictionary(given):
        given = given.value_type
    if types.is_timestamp(kind):
        is_naive = types.is_date(given) or (types.is_timestamp(given) and given.tz is None)
        if not is_naive or kind.tz is None or zone_of(kind.tz) is None:
            return column
        return to_zoned(column.view(pa.timestamp(kind.unit)), kind.tz).cast(kind)
    if types.is_struct(kind) and types.is_struct(given):
        return _moved_struct(column, given)
    elements = _elements(given)
    if elements is None or not (types.is_list(kind) or types.is_map(kind)):
        return column
    before = column.values
    after = _moved(before, elements)
    if after is before:
        return column
    # The buffers stay: offsets with a null in them would hand its elements to the list before it.
    return pa.Array.from_buffers(
        kind, len(column), column.buffers()[:2], column.null_count, column.offset, children=[after]
    )


def _moved_struct(column: pa.StructArray, given: pa.StructType) -> pa.StructArray:
    fields = list(column.type)
    before = [column.field(i) for i in range(len(fields))]
    places = [given.get_field_index(field.name) for field in fields]
    after = [
        each if place < 0 else _moved(each, given.field(place).type) for each, place in zip(before, places, strict=True)
    ]
    if all(one is other for one, other in zip(before, after, strict=True)):
        return column
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(after, fields=fields, mask=mask)


def _elements(kind: pa.DataType) -> pa.DataType | None:
    """The type of what lists of a type hold, or of the entries of maps."""
    if pa.types.is_map(kind):
        return pa.struct([kind.key_field, kind.item_field])
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return kind.value_type if is_list else None


def aware(values: Iterable[Any], tz: str) -> list[Any]:
    """Values with a time zone in place of naive datetimes, which are of this one and keep their ``fold``.

    Arrow would take datetimes with a zone for naive ones beside such.
    """
    zone = zone_of(tz) or timezone.utc
    return [_aware(value, zone) if isinstance(value, datetime) else value for value in values]


def _aware(value: datetime, zone: Any) -> datetime | None:
    if value != value:
        return None  # NaT of pandas
    return value if value.tzinfo is not None else value.replace(tzinfo=zone)
