"""``reduce`` and ``aggregate``, through Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyspark.sql
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline
from snapline.errors import SnaplineError
from snapline.state.row import row_maker
from snapline.stream.folding import aggregation
from snapline.testing import KeyedTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS = [("a", 1.0), ("a", 5.0), ("b", 3.0)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("folding")
    yield session
    session.stop()


class Bounds(snapline.AggregateFunction[Any, Any, Any]):
    """Finds the least and the greatest v; what it gives is made by ``give``."""

    def __init__(self, give: Callable[[float, float], Any]) -> None:
        self.give = give

    def create_accumulator(self) -> Any:
        return (float("inf"), float("-inf"))

    def add(self, value: Any, accumulator: Any) -> Any:
        return min(value.v, accumulator[0]), max(value.v, accumulator[1])

    def get_result(self, accumulator: Any) -> Any:
        return self.give(*accumulator)


GIVEN: dict[str, Callable[[float, float], Any]] = {
    "a dict": lambda lo, hi: {"hi": hi, "lo": lo},
    "a row of Spark": lambda lo, hi: pyspark.sql.Row(hi=hi, lo=lo),
    "a row": lambda lo, hi: row_maker(["hi", "lo"])((hi, lo)),
    "a tuple": lambda lo, hi: (lo, hi),
    "a list": lambda lo, hi: [lo, hi],
}


def bounds(spark: SparkSession, give: Callable[[float, float], Any], result: str, emit: Any = "per_batch") -> Any:
    keyed = snapline.key_by(spark.createDataFrame(ROWS, "k string, v double"), "k")
    return keyed.aggregate(Bounds(give), result, accumulator_type="struct<lo: double, hi: double>", emit=emit)


@pytest.mark.parametrize("given", GIVEN)
def test_a_result_goes_into_columns_by_name(spark: SparkSession, given: str) -> None:
    found = bounds(spark, GIVEN[given], "lo double, hi double").collect()
    assert {(row.k, row.lo, row.hi) for row in found} == {("a", 1.0, 5.0), ("b", 3.0, 3.0)}


def test_a_name_that_is_left_out_is_null(spark: SparkSession) -> None:
    found = bounds(spark, lambda lo, hi: {"hi": hi}, "lo double, hi double").collect()
    assert {(row.k, row.lo, row.hi) for row in found} == {("a", None, 5.0), ("b", None, 3.0)}


def test_one_column_has_the_result_as_its_value(spark: SparkSession) -> None:
    struct = bounds(spark, GIVEN["a dict"], "both struct<lo: double, hi: double>").collect()
    assert {(row.k, row.both.lo, row.both.hi) for row in struct} == {("a", 1.0, 5.0), ("b", 3.0, 3.0)}
    named = bounds(spark, GIVEN["a dict"], "both map<string, double>").collect()
    assert {row.k: row.both for row in named} == {"a": {"lo": 1.0, "hi": 5.0}, "b": {"lo": 3.0, "hi": 3.0}}


def test_a_name_that_is_no_column_is_told() -> None:
    function = aggregation(
        Bounds(lambda lo, hi: {"low": lo, "hi": hi}), "struct<lo: double, hi: double>", 1, ["lo", "hi"], "per_element"
    )
    output = "k string, lo double, hi double"
    with (
        KeyedTestHarness(function, key="k", schema="k string, v double", output=output) as harness,
        pytest.raises(SnaplineError, match="there is no column low; the columns are lo, hi"),
    ):
        harness.process_batch(ROWS)


REDUCED: dict[str, Callable[[Any, Any], Any]] = {
    "a dict": lambda a, b: {"v": a.v + b.v, "k": a.k},
    "a row of Spark": lambda a, b: pyspark.sql.Row(v=a.v + b.v, k=a.k),
    "a row": lambda a, b: row_maker(["v", "k"])((a.v + b.v, a.k)),
    "a tuple": lambda a, b: (a.k, a.v + b.v),
}


@pytest.mark.parametrize("given", REDUCED)
def test_a_reduced_row_goes_into_columns_by_name(spark: SparkSession, given: str) -> None:
    keyed = snapline.key_by(spark.createDataFrame(ROWS, "k string, v double"), "k")
    found = keyed.reduce(REDUCED[given], emit="per_batch").collect()
    assert {tuple(row) for row in found} == {("a", 6.0), ("b", 3.0)}
