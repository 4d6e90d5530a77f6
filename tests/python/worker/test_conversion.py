"""Python values to Arrow and back."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapline import FunctionFailed
from snapline.state.row import row_maker
from snapline.worker.decode import decoder
from snapline.worker.encode import ColumnEncoder, encoder

NEW_YORK = pa.timestamp("us", "America/New_York")
times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))

leaves = st.sampled_from(
    [
        (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
        (pa.int8(), st.integers(-128, 127)),
        (pa.float64(), st.floats(allow_nan=False)),
        (pa.bool_(), st.booleans()),
        (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
        (pa.binary(), st.binary(max_size=5)),
        (pa.date32(), st.dates()),
        (pa.timestamp("us"), times),
        (pa.timestamp("us", "UTC"), times),
        (pa.duration("us"), st.timedeltas(timedelta(-9999), timedelta(9999))),
        (pa.decimal128(10, 2), st.decimals(-999, 999, places=2)),
    ]
)


def nested(children: Any) -> Any:
    def struct(kinds: Any) -> Any:
        fields = [pa.field(f"f{i}", kind) for i, (kind, _) in enumerate(kinds)]
        values = st.tuples(*(st.none() | each for _, each in kinds))
        return pa.struct(fields), values

    lists = children.map(lambda each: (pa.list_(each[0]), st.lists(st.none() | each[1], max_size=3)))
    maps = children.map(
        lambda each: (pa.map_(pa.string(), each[0]), st.dictionaries(st.text("ab"), st.none() | each[1]))
    )
    return lists | maps | st.lists(children, min_size=1, max_size=3).map(struct)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.recursive(leaves, nested, max_leaves=4))
def test_values_come_back_as_they_were(data: Any, kind_and_values: Any) -> None:
    kind, values = kind_and_values
    sent = data.draw(st.lists(st.none() | values, max_size=6))
    array = encoder(kind)(sent)
    array.validate(full=True)
    assert array.type == kind
    assert decoder(kind)(array) == sent
    start = data.draw(st.integers(0, len(sent)))
    assert decoder(kind)(array.slice(start)) == sent[start:]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | times, max_size=5))
def test_naive_times_are_local_to_the_zone(sent: list[datetime | None]) -> None:
    array = encoder(NEW_YORK)(sent)
    seen = decoder(NEW_YORK)(array)
    for before, after in zip(sent, seen, strict=True):
        # An hour that a clock skips or has twice is the one thing a naive time cannot say.
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert abs(after - before) <= timedelta(hours=1)
    assert encoder(NEW_YORK)(seen) == array


def test_times_with_a_zone_mean_what_they_say() -> None:
    aware = datetime(2020, 1, 1, 10, tzinfo=timezone(timedelta(hours=2)))
    assert decoder(NEW_YORK)(encoder(NEW_YORK)([aware, None])) == [datetime(2020, 1, 1, 3), None]
    assert decoder(NEW_YORK)(encoder(NEW_YORK)([aware, datetime(2020, 1, 1)]))[1] == datetime(2020, 1, 1)


def test_structs_are_rows_and_take_tuples_dicts_and_rows() -> None:
    kind = pa.struct([("a", pa.int64()), ("b", pa.string())])
    turned = row_maker(["b", "a"])(("x", 3))
    array = encoder(kind)([(1, "x"), [2, "y"], {"b": "z"}, None, turned])
    seen = decoder(kind)(array)
    assert seen == [(1, "x"), (2, "y"), (None, "z"), None, (3, "x")]
    assert seen[0].b == "x"


def test_keys_can_be_hashed() -> None:
    kind = pa.struct([("a", pa.list_(pa.int64()))])
    (key,) = decoder(kind, as_key=True)(encoder(kind)([([1, 2],)]))
    assert {key: 1}[((1, 2),)] == 1


@pytest.mark.parametrize(
    ("kind", "good", "bad", "message"),
    [
        (pa.int64(), 1, 1.5, "given 1.5, a float"),
        (pa.int64(), None, "x", "given 'x', a str"),
        (pa.int8(), 1, 300, "given 300, a int"),
        (pa.int64(), 1, 2**70, "a int"),
        (pa.int64(), 1, True, "given True, a bool"),
        (pa.string(), "x", 5, "given 5, a int"),
        (pa.timestamp("us"), datetime(2020, 1, 1), 5, "given 5, a int"),
        (pa.timestamp("us"), None, date(2020, 1, 1), "a date"),
        (pa.decimal128(4, 1), Decimal("1.5"), Decimal("1.55"), "a Decimal"),
        (pa.list_(pa.int64()), [1], "12", "given '12', a str"),
        (pa.list_(pa.int64()), [1], ["x"], r"given \['x'\], a list \(an element: "),
        (pa.struct([("a", pa.int64())]), (1,), (1, 2), "2 values where 1 belong"),
        (pa.struct([("a", pa.int64())]), {"a": 1}, {"b": 1}, "there is no column b"),
        (pa.map_(pa.string(), pa.int64()), {"a": 1}, [1], r"given \[1\], a list"),
    ],
)
def test_a_wrong_value_is_named_with_column_and_type(kind: Any, good: Any, bad: Any, message: str) -> None:
    encode = ColumnEncoder("column total", kind)
    assert len(encode([good, good])) == 2
    with pytest.raises(FunctionFailed, match=message) as told:
        encode([bad])
    assert told.value.found.startswith("column total is of type ")


def test_lists_and_maps_without_rows_may_have_no_offset() -> None:
    """Arrow allows an empty buffer of offsets for no rows, as Spark 4.1 sends it for lists within no lists."""
    none = pa.array([], pa.int64())
    lists = pa.Array.from_buffers(pa.list_(pa.int64()), 0, [None, pa.py_buffer(b"")], children=[none])
    assert decoder(lists.type)(lists) == []
    kind = pa.map_(pa.int64(), pa.int64())
    entries = pa.StructArray.from_arrays([none, none], fields=[kind.key_field, kind.item_field])
    maps = pa.Array.from_buffers(kind, 0, [None, pa.py_buffer(b"")], children=[entries])
    assert decoder(kind)(maps) == []
