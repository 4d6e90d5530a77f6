"""``last`` and ``top_n``: against a plain model, and in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import snapline
from snapline import StateTtlConfig
from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedTestHarness

from ..spark_session import open_session

ROWS = "k string, price double, name string, at timestamp, more array<struct<a: int, b: string>>"
NOON = datetime(2024, 3, 1, 12)

row = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from([None, nan, -1.5, 0.0, 2.0, 2.5, 7.0]),
    st.sampled_from([None, "x", "y", "ü"]),
    st.sampled_from([None, *(NOON + timedelta(minutes=i) for i in range(4))]),
    st.sampled_from([None, [], [(1, "one"), None]]),
)
batches = st.lists(st.lists(row, max_size=12), max_size=4)
bounds = st.sampled_from([Bounds(), Bounds(chunk_rows=1), Bounds(chunk_rows=4, max_keys=1)])


def place(value: Any, descending: bool) -> tuple[bool, Any]:
    """Nulls and NaN last, in either direction."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return True, 2 if value is None else 1
    return False, -value if descending else value


@given(batches, bounds, st.sampled_from([1, 2, 3]), st.booleans())
def test_top_n_is_that_of_all_rows_so_far(rows: list[list[Any]], bounds: Bounds, n: int, descending: bool) -> None:
    with KeyedTestHarness.of_stream(
        lambda stream: stream.top_n(n, by="price", descending=descending), key="k", schema=ROWS, bounds=bounds
    ) as harness:
        shown: dict[tuple[str, int], Any] = {}
        seen: dict[str, list[Any]] = {}
        for batch in rows:
            for rank, *values in harness.process_batch(batch):
                # A chunk puts a rank out once, and only if it has another row.
                shown[values[0], rank] = plain(values)
            for each in batch:
                seen.setdefault(each[0], []).append(each)
        wanted = {
            (key, rank): each
            for key, all_rows in seen.items()
            for rank, each in enumerate(sorted(all_rows, key=lambda row: place(row[1], descending))[:n], 1)
        }
        assert repr(sorted(shown.items(), key=repr)) == repr(sorted(wanted.items(), key=repr))


def test_a_rank_is_put_out_only_when_it_has_another_row() -> None:
    schema = "k string, price long, name string"
    with KeyedTestHarness.of_stream(
        lambda stream: stream.top_n(2, by=["price", "name"], rank="place"), key="k", schema=schema
    ) as harness:
        assert harness.process_batch([("a", 5, "x"), ("b", 1, "x"), ("a", 7, "x"), ("a", 6, "x")]) == [
            (1, "a", 7, "x"),
            (2, "a", 6, "x"),
            (1, "b", 1, "x"),
        ]
        assert harness.process_batch([("a", 5, "y"), ("a", 6, "x")]) == []
        assert harness.process_batch([("a", 7, "w")]) == [(2, "a", 7, "w")]
        assert harness.process_batch([("a", 7, "y"), ("a", 0, "z")]) == [(1, "a", 7, "y"), (2, "a", 7, "x")]
        assert harness.process_batch([("a", 9, "a")])[0].place == 1


@given(batches, bounds)
def test_last_is_the_newest_row_so_far(rows: list[list[Any]], bounds: Bounds) -> None:
    with KeyedTestHarness.of_stream(
        lambda stream: stream.last(by="at"), key="k", schema=ROWS, bounds=bounds
    ) as harness:
        newest: dict[str, Any] = {}
        shown: dict[str, Any] = {}
        for batch in rows:
            shown.update({each[0]: plain(each) for each in harness.process_batch(batch)})
            for each in batch:
                if each[3] is not None and (each[0] not in newest or newest[each[0]][3] <= each[3]):
                    newest[each[0]] = each
            assert repr(shown) == repr({key: newest[key] for key in shown})
        assert shown.keys() == newest.keys()
        assert harness.num_keys("newest") == len(newest)


def test_older_rows_are_not_put_out_and_nan_is_no_time() -> None:
    with KeyedTestHarness.of_stream(
        lambda stream: stream.last(by="v"), key="k", schema="k string, v double"
    ) as harness:
        assert harness.process_batch([("a", 2.0), ("a", nan), ("b", None)]) == [("a", 2.0)]
        assert harness.process_batch([("a", 1.0)]) == []
        assert harness.process_batch([("a", 2.0), ("a", 1.0)]) == [("a", 2.0)]


def test_states_that_expire() -> None:
    ttl = StateTtlConfig(timedelta(seconds=1))
    schema = "k string, v long"
    for build, first, second in (
        (lambda stream: stream.last(by="v", ttl=ttl), [("a", 5)], [("a", 1)]),
        (lambda stream: stream.top_n(1, by="v", ttl=ttl), [(1, "a", 5)], [(1, "a", 1)]),
    ):
        with KeyedTestHarness.of_stream(build, key="k", schema=schema) as harness:
            assert harness.process_batch([("a", 5)]) == first
            assert harness.process_batch([("a", 1)]) == []
            harness.advance_processing_time(5_000)
            assert harness.process_batch([("a", 1)]) == second


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("rankings")
    yield session
    session.stop()


def test_bounded_tables_in_spark(spark: SparkSession) -> None:
    rows = [
        (f"k{i % 3}", float(i % 7), f"n{i}", NOON + timedelta(minutes=i % 11), [(i, "x")] if i % 2 else None)
        for i in range(60)
    ]
    keyed = snapline.key_by(spark.createDataFrame(rows, ROWS), "k").order_by("name")
    in_order = sorted(rows, key=lambda row: row[2])
    newest: dict[str, Any] = {}
    for each in in_order:
        if each[0] not in newest or newest[each[0]][3] <= each[3]:
            newest[each[0]] = each
    found = {each.k: each for each in keyed.last("at").collect()}
    assert {key: plain(each) for key, each in found.items()} == newest
    top = keyed.top_n(4, ["price", "at"], descending=False).collect()
    for key in newest:
        mine = sorted((each for each in in_order if each[0] == key), key=lambda row: (row[1], row[3]))[:4]
        assert [plain(each)[1:] for each in sorted(top) if each.k == key] == mine
    assert {each["rank"] for each in top} == {1, 2, 3, 4}


def plain(row: Any) -> tuple[Any, ...]:
    """Rows within it as tuples."""
    return tuple([item and tuple(item) for item in value] if isinstance(value, list) else value for value in row)


def test_calls_that_cannot_be(spark: SparkSession) -> None:
    keyed = snapline.key_by(spark.createDataFrame([], ROWS), "k")
    calls: list[tuple[Any, str]] = [
        (lambda: keyed.top_n(0, "price"), "top_n of 0"),
        (lambda: keyed.top_n(3, []), "top_n by no column"),
        (lambda: keyed.top_n(3, "price", rank="name"), "a rank named name, as a column is"),
        (lambda: keyed.top_n(3, "nothing"), "top_n by nothing, which is no column"),
        (lambda: keyed.last("more"), "last by more, which is of type array"),
    ]
    for call, found in calls:
        with pytest.raises(InvalidConfiguration, match=found):
            call()
