"""The form of values in a state is that in which the store gives them back; that of keys is equal where bytes are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import DataType, TimeType

from snapline.state.ddl import parse_type
from snapline.state.form import form_of, key_form
from snapline.testing.schemas import arrow_type
from snapline.worker.decode import decoder
from snapline.worker.encode import encoder

from .key_types import KEY_TYPES, NEW_YORK, given_keys

UTC = timezone.utc


def arrow(kind: DataType) -> pa.DataType:
    return arrow_type(kind, NEW_YORK)


def as_stored(kind: DataType, value: Any, *, as_key: bool = False) -> Any:
    (found,) = decoder(arrow(kind), as_key=as_key)(encoder(arrow(kind))([value]))
    return found


def shape(value: Any) -> Any:
    """The value with all types in it, as a text: equal values of other types differ."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [shape(each) for each in value]
    if isinstance(value, dict):
        return "dict", [(shape(key), shape(each)) for key, each in value.items()]
    return type(value).__name__, repr(value)


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from(sorted(KEY_TYPES)))
def test_a_value_is_kept_as_the_store_gives_it_back(data: Any, text: str) -> None:
    kind = parse_type(f"struct<one:{text},list:array<{text}>,map:map<string,{text}>>")
    each = st.none() | given_keys(text)
    value = data.draw(st.tuples(each, st.lists(each, max_size=3), st.dictionaries(st.text("ab"), each, max_size=2)))
    kept = form_of(kind, ZoneInfo(NEW_YORK), "it").take(value)
    assert shape(kept) == shape(as_stored(kind, value))
    # Taken again it is the same, and so is what is handed out.
    form = form_of(kind, ZoneInfo(NEW_YORK), "it")
    assert form.give is not None
    assert shape(form.take(form.give(kept))) == shape(kept)


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from(sorted(KEY_TYPES)))
def test_keys_are_equal_where_their_bytes_are(data: Any, text: str) -> None:
    kind = parse_type(text)
    first, second = (data.draw(given_keys(text)) for _ in range(2))
    take = key_form(kind, ZoneInfo(NEW_YORK), "it").take
    one, other = take(first), take(second)
    stored = encoder(arrow(kind))([one, other])
    bytes_of = [array.to_pylist() for array in (stored.slice(0, 1), stored.slice(1, 1))]
    assert ({one: 1} == {other: 1}) == (repr(bytes_of[0]) == repr(bytes_of[1]))
    # What comes back finds what was put, as the very key of a dict.
    back = decoder(arrow(kind), as_key=True)(stored)
    assert {one: 1}[back[0]] == 1
    assert shape(back[0]) == shape(one)


AWARE = datetime(2013, 11, 3, 6, 30, tzinfo=UTC)

GIVEN: list[tuple[str, Any, Any]] = [
    ("long", np.int32(5), 5),
    ("long", Decimal(5), 5),
    ("double", 5, 5.0),
    ("double", np.float32(0.5), 0.5),
    ("float", 0.1, 0.10000000149011612),
    ("float", 1e300, float("inf")),
    ("decimal(10,2)", 3, Decimal("3.00")),
    ("decimal(10,2)", Decimal("1.500"), Decimal("1.50")),
    ("decimal(10,2)", np.int64(3), Decimal("3.00")),
    ("string", np.str_("x"), "x"),
    ("string", b"x", "x"),
    ("binary", bytearray(b"x"), b"x"),
    ("binary", memoryview(b"x"), b"x"),
    ("binary", "x", b"x"),
    ("boolean", np.bool_(True), True),
    ("date", datetime(2020, 1, 1, 23), date(2020, 1, 1)),
    ("date", datetime(2020, 1, 1, 1, tzinfo=timezone(timedelta(hours=5))), date(2020, 1, 1)),
    ("timestamp", AWARE, datetime(2013, 11, 3, 1, 30, fold=1)),
    ("timestamp", pd.Timestamp(AWARE), datetime(2013, 11, 3, 1, 30, fold=1)),
    ("timestamp", datetime(2013, 3, 10, 2, 30), datetime(2013, 3, 10, 3, 30)),
    ("timestamp", datetime(2020, 1, 1, fold=1), datetime(2020, 1, 1)),
    ("timestamp", np.datetime64("2020-01-01"), datetime(2020, 1, 1)),
    ("timestamp", pd.NaT, None),
    ("timestamp_ntz", AWARE, datetime(2013, 11, 3, 6, 30)),
    ("timestamp_ntz", datetime(2013, 11, 3, 1, 30, fold=1), datetime(2013, 11, 3, 1, 30)),
    ("interval day to second", timedelta(1), timedelta(1)),
    ("interval day to second", 5, timedelta(microseconds=5)),
    ("array<double>", (1, 2.5), [1.0, 2.5]),
    ("array<long>", np.arange(3), [0, 1, 2]),
    ("array<array<int>>", ((1,), None), [[1], None]),
    ("map<double,array<long>>", {1: (1,)}, {1.0: [1]}),
    ("struct<a:double,b:string>", {"b": "x"}, (None, "x")),
    ("struct<a:double,b:string>", [1, "x"], (1.0, "x")),
]


@pytest.mark.parametrize(("text", "given", "expected"), GIVEN)
def test_what_is_given_in_another_form(text: str, given: Any, expected: Any) -> None:
    kept = form_of(parse_type(text), ZoneInfo(NEW_YORK), "it").take(given)
    assert kept == expected
    assert repr(kept).removeprefix("Row") == repr(as_stored(parse_type(text), kept)).removeprefix("Row")
    assert getattr(kept, "fold", 0) == getattr(expected, "fold", 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("long", 1.0),
        ("long", True),
        ("long", "1"),
        ("tinyint", 300),
        ("double", 2**53 + 1),
        ("double", True),
        ("float", 2**24 + 1),
        ("decimal(4,1)", Decimal("1.55")),
        ("decimal(4,1)", Decimal("1000")),
        ("decimal(4,1)", Decimal("NaN")),
        ("decimal(4,1)", 1.5),
        ("string", 5),
        ("binary", 5),
        ("boolean", 1),
        ("date", "2020-01-01"),
        ("timestamp", date(2020, 1, 1)),
        ("timestamp", 5),
        ("interval day to second", 1.5),
        ("array<long>", "12"),
        ("array<long>", 5),
        ("array<long>", [1, "x"]),
        ("map<string,long>", [1]),
        ("map<string,long>", {1: 1}),
        ("struct<a:long>", (1, 2)),
        ("struct<a:long>", {"b": 1}),
        ("struct<a:long>", 5),
    ],
)
def test_what_does_not_fit_is_refused_by_name(text: str, value: Any) -> None:
    kind = parse_type(text)
    takes: list[Callable[[Any], Any]] = [form_of(kind, None, "the value of state x").take]
    if "map" not in text:
        takes.append(key_form(kind, None, "the value of state x").take)
    for take in takes:
        with pytest.raises(TypeError, match=r"the value of state x is of type .*, and was given .*, a ") as told:
            take(value)
        assert kind.simpleString() in str(told.value)


def test_times_of_day() -> None:
    take = form_of(TimeType(), None, "it").take
    assert take(time(1, 2, 3, tzinfo=UTC)) == time(1, 2, 3)
    with pytest.raises(TypeError, match="no time"):
        take(5)
