"""Columns of time stamps: with the session's time zone, and naive in it."""

from __future__ import annotations

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
