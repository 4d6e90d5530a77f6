"""Interval joins against all pairs there are, and on Spark."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import ProcessJoinFunction
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.stream.interval_join import join_function
from snapline.testing import Bounds, KeyedCoTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

EPOCH = datetime(1970, 1, 1)
MS = timedelta(milliseconds=1)
LEFT, RIGHT, OUTPUT = "k int, l int, t timestamp", "t timestamp, k int, r int", "k int, l int, r int, at long"


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (
            (left.t - EPOCH) // MS,
            (right.t - EPOCH) // MS,
        )
        yield ctx.get_current_key(), left.l, right.r, ctx.timestamp()


SIDE = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 25)), max_size=5)


@settings(max_examples=80, deadline=None)
@given(
    batches=st.lists(st.tuples(SIDE, SIDE, st.integers(0, 25)), max_size=6),
    lower=st.integers(-8, 8),
    length=st.integers(0, 9),
    bounds=st.sampled_from((Bounds(), Bounds(chunk_rows=2, max_keys=1, max_prefetch=1))),
)
def test_pairs_are_all_there_are(
    batches: list[tuple[list[tuple[int, int]], list[tuple[int, int]], int]], lower: int, length: int, bounds: Bounds
) -> None:
    """Each pair whose later row comes before the watermark has passed either; no row is left behind."""
    upper = lower + length
    schemas = parse_schema(LEFT, "left"), parse_schema(RIGHT, "right")
    lefts: list[tuple[int, int, int]] = []
    rights: list[tuple[int, int, int]] = []
    found: list[Any] = []
    mark = number = 0
    with KeyedCoTestHarness(
        join_function(Pairs(), lower, upper, schemas),
        keys=("k", "k"),
        schemas=schemas,
        output=OUTPUT,
        event_times=("t", "t"),
        bounds=bounds,
    ) as harness:
        for first, second, watermark in batches:
            rows: tuple[list[Any], list[Any]] = ([], [])
            for k, time in first:
                number += 1
                rows[0].append((k, number, EPOCH + time * MS))
                lefts += [(k, number, time)] if time > mark else []
            for k, time in second:
                number += 1
                rows[1].append((EPOCH + time * MS, k, number))
                rights += [(k, number, time)] if time > mark else []
            found += harness.process_batch(*rows)
            mark = max(mark, watermark)
            found += harness.advance_watermark(EPOCH + mark * MS)
        pairs = Counter(
            (k, left, right, max(at, time))
            for k, left, at in lefts
            for of, right, time in rights
            if k == of and lower <= time - at <= upper
        )
        assert Counter(map(tuple, found)) == pairs
        harness.advance_watermark(EPOCH + timedelta(days=1))
        assert harness.num_timers() == harness.num_keys("left-buffer") == harness.num_keys("right-buffer") == 0


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("interval-join")
    yield session
    session.stop()


def test_two_streams_are_joined(spark: SparkSession, tmp_path: Path) -> None:
    minute = timedelta(minutes=1)
    found: list[Any] = []

    def collect(batch: DataFrame, _: int) -> None:
        found.extend((row.l, row.r) for row in batch.collect())

    def stream(name: str, schema: str) -> Any:
        rows = spark.readStream.schema(schema).parquet(str(tmp_path / name)).withWatermark("t", "1 minute")
        return snapline.key_by(rows, "k")

    batches = [([(1, 1, 0), (2, 2, 1)], [(1, 10, 3)]), ([(1, 3, 4)], [(2, 20, 5), (1, 30, 9)])]
    for left, right in batches:
        for name, schema, rows in (
            ("left", LEFT, [(k, v, EPOCH + (100 + at) * minute) for k, v, at in left]),
            ("right", RIGHT, [(EPOCH + (100 + at) * minute, k, v) for k, v, at in right]),
        ):
            spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(tmp_path / name))
        joined = stream("left", LEFT).interval_join(stream("right", RIGHT)).between(-minute, 5 * minute)
        result = joined.upper_bound_exclusive().process(Pairs(), OUTPUT)
        writer = result.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(collect)
        query = writer.outputMode("update").start()
        query.processAllAvailable()
        query.stop()
    assert sorted(found) == [(1, 10), (2, 20), (3, 10)]


def test_joins_that_cannot_be(spark: SparkSession) -> None:
    rows = snapline.key_by(spark.createDataFrame([(1,)], "k int"), "k")
    with pytest.raises(InvalidConfiguration, match="without event time"):
        rows.interval_join(rows)
    left = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    joined = snapline.key_by(left, "value").interval_join(snapline.key_by(left, "value"))
    with pytest.raises(InvalidConfiguration, match="between 5 ms and 4 ms"):
        joined.between(5, 4)
    with pytest.raises(InvalidConfiguration, match="between 6 ms and 5 ms"):
        joined.between(5, 5).lower_bound_exclusive()
    with pytest.raises(InvalidConfiguration, match="no ProcessJoinFunction"):
        joined.between(0, 5).process(5, OUTPUT)  # type: ignore[arg-type]
