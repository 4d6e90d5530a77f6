"""Arrow columns into Python values, column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import pyarrow as pa

from snapline.functions.time import zone_of
from snapline.functions.zoned import micros_of
from snapline.state.row import Row, row_maker
from snapline.state.scalars import NAN
from snapline.state.wall_clock import WallClock, repeated_key

Decoder = Callable[[pa.Array], list[Any]]

#: With one null in so many, a struct's fields are decoded without those.
_SPARSE = 8


def decoder(kind: pa.DataType, *, as_key: bool = False) -> Decoder:
    """The function that turns arrays of this type into lists.

    Time stamps become naive datetimes in the time zone of their type; ``fold`` tells the halves of a doubled hour.
    As keys, values are hashed, and equal to those of the same bytes only: see ``snapline.state.form``.
    """
    types = pa.types
    if types.is_integer(kind):
        return _numbers
    if types.is_floating(kind):
        return _float_keys if as_key else _numbers
    if types.is_timestamp(kind):
        zone = None if kind.tz is None else zone_of(kind.tz)
        return _times if zone is None else _zoned(WallClock(zone), as_key)
    if types.is_date32(kind) or types.is_duration(kind):
        return _times
    if types.is_struct(kind):
        return _structs(kind, as_key)
    if types.is_map(kind):
        return _maps(kind)
    if types.is_list(kind):
        return _lists(kind, as_key)
    return _any


def row_decoder(fields: Iterable[pa.Field]) -> Callable[[pa.RecordBatch], Iterator[Row]]:
    """The function that turns batches, which begin with these columns, into rows."""
    columns = list(fields)
    decoders = [decoder(field.type) for field in columns]
    make = row_maker([field.name for field in columns])

    def decode(batch: pa.RecordBatch) -> Iterator[Row]:
        values = [decode(column) for decode, column in zip(decoders, batch.columns, strict=False)]
        return map(make, zip(*values, strict=True))

    return decode


def _any(array: pa.Array) -> list[Any]:
    return array.to_pylist()  # type: ignore[no-any-return]


def _numbers(array: pa.Array) -> list[Any]:
    if not array.null_count:
        return array.to_numpy().tolist()  # type: ignore[no-any-return]
    values: list[Any] = array.fill_null(0).to_numpy().tolist()
    return _with_nulls(values, array)


def _with_nulls(values: list[Any], array: pa.Array) -> list[Any]:
    for i in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
        values[i] = None
    return values


def _times(array: pa.Array) -> list[Any]:
    # numpy turns time stamps into datetimes at a fifth of the price, and NaT into None.
    return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]


def _zoned(clock: WallClock, as_key: bool) -> Decoder:
    def decode(array: pa.Array) -> list[Any]:
        local, repeated = clock.local(micros_of(array))
        values: list[Any] = local.view("M8[us]").tolist()
        for i in repeated:
            again = values[i].replace(fold=1)
            values[i] = repeated_key(again) if as_key else again
        return _with_nulls(values, array) if array.null_count else values

    return decode


def _float_keys(array: pa.Array) -> list[Any]:
    numbers = (array.fill_null(0) if array.null_count else array).to_numpy() + 0.0  # there is no negative zero
    values: list[Any] = numbers.tolist()
    for i in np.flatnonzero(np.isnan(numbers)).tolist():
        values[i] = NAN
    return _with_nulls(values, array) if array.null_count else values


def _structs(kind: pa.StructType, as_key: bool) -> Decoder:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    decoders = [decoder(field.type, as_key=as_key) for field in fields]
    make = row_maker([field.name for field in fields])

    def decode(array: pa.StructArray) -> list[Any]:
        if not fields:
            return [make(()) if ok else None for ok in array.is_valid().to_pylist()]
        if array.null_count * _SPARSE >= len(array) > 0:
            return _spread(decode(array.drop_null()), array)
        columns = [decode(column) for decode, column in zip(decoders, array.flatten(), strict=True)]
        rows: list[Any] = list(map(make, zip(*columns, strict=True)))
        return _with_nulls(rows, array) if array.null_count else rows

    return decode


def _spread(values: list[Any], array: pa.Array) -> list[Any]:
    """The values in the places that are not null, as of a column that most rows of another input lack."""
    spread: list[Any] = [None] * len(array)
    valid = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
    for i, value in zip(valid.tolist(), values, strict=True):
        spread[i] = value
    return spread


def _lists(kind: pa.ListType, as_key: bool) -> Decoder:
    element = decoder(kind.value_type, as_key=as_key)
    take = tuple if as_key else list

    def decode(array: pa.ListArray) -> list[Any]:
        # Without elements there may be no offset at all, which is valid Arrow: Spark 4.1 sends none.
        if not len(array):
            return []
        offsets: list[int] = array.offsets.to_numpy().tolist()
        start = offsets[0]
        elements = element(array.values.slice(start, offsets[-1] - start))
        lists: list[Any] = [take(elements[begin - start : end - start]) for begin, end in pairwise(offsets)]
        return _with_nulls(lists, array) if array.null_count else lists

    return decode


def _maps(kind: pa.MapType) -> Decoder:
    key, item = decoder(kind.key_type, as_key=True), decoder(kind.item_type)

    def decode(array: pa.MapArray) -> list[Any]:
        if not len(array):
            return []
        offsets: list[int] = array.offsets.to_numpy().tolist()
        start, length = offsets[0], offsets[-1] - offsets[0]
        keys, items = key(array.keys.slice(start, length)), item(array.items.slice(start, length))

        def entries(begin: int, end: int) -> dict[Any, Any]:
            return dict(zip(keys[begin - start : end - start], items[begin - start : end - start], strict=True))

        maps: list[Any] = list(starmap(entries, pairwise(offsets)))
        return _with_nulls(maps, array) if array.null_count else maps

    return decode
