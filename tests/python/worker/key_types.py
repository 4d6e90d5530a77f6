"""Types that keys can have, and what a user may give for a key of each."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

NEW_YORK = "America/New_York"
_DOUBLED = datetime(2013, 11, 3, 1, 30)

#: Times around the hours that New York has twice and not at all, and any others.
_times = st.sampled_from(
    [
        _DOUBLED,
        _DOUBLED.replace(fold=1),
        datetime(2013, 11, 3, 6, 30, tzinfo=timezone.utc),
        datetime(2013, 11, 3, 5, 30, tzinfo=timezone.utc),
        datetime(2013, 3, 10, 2, 30),
        datetime(2040, 7, 1, 12, 0, 0, 1),
    ]
) | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.none() | st.just(timezone.utc))  # type: ignore[arg-type]
_floats = st.sampled_from([0.0, -0.0, float("nan"), np.float64("nan"), 0.1, 1, np.float32(0.5)]) | st.floats(width=32)
_dates = st.sampled_from([date(2020, 1, 1), datetime(2020, 1, 1, 7), np.datetime64("2020-01-01", "s").item()])


def _wholes(bits: int) -> Any:
    near = st.integers(-3, 3)
    return near | near.map(np.int8) | st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def _tuples(*parts: Any) -> Any:
    """As a tuple, a list or a dict with the names a, b, ..."""
    rows = st.tuples(*parts)
    return rows | rows.map(list) | rows.map(lambda row: dict(zip("abc", row, strict=False)))


_words = st.text("ab", max_size=2)

#: By type; all values of one type but None can stand beside each other.
KEY_TYPES: dict[str, Any] = {
    "boolean": st.booleans() | st.booleans().map(lambda flag: np.bool_(flag)),
    "tinyint": _wholes(8),
    "int": _wholes(32),
    "long": _wholes(64),
    "float": _floats,
    "double": _floats,
    "decimal(10,2)": st.sampled_from([Decimal("1.5"), Decimal("1.50"), Decimal("-0"), 0, 1, Decimal("1E+2")]),
    "string": _words | _words.map(np.str_),
    "binary": _words.map(str.encode) | _words.map(lambda word: bytearray(word.encode())),
    "date": _dates | st.dates(),
    "timestamp": _times,
    "timestamp_ntz": _times,
    "interval day to second": st.timedeltas(timedelta(-9), timedelta(9)),
    "array<double>": st.lists(_floats, max_size=2) | st.lists(_floats, max_size=2).map(tuple),
    "struct<a:timestamp,b:float>": _tuples(_times, _floats),
    "struct<a:array<long>,b:struct<a:string>>": _tuples(st.lists(_wholes(64), max_size=2), _tuples(_words)),
}


def given_keys(kind: str) -> Any:
    """What a user may give for a key of the type."""
    return KEY_TYPES[kind]
