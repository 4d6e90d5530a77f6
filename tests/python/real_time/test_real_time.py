"""Keyed functions in Spark's real-time mode: what happens while a micro-batch lasts, and at its end."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import FixedDelayRestart

from .rows import LONG, SCHEMA, Count, Remember, Ring, Rows, wait_for

PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def test_rows_go_through_while_the_batch_lasts(rows: Rows) -> None:
    query = rows.start(Count(rows.seen))
    try:
        for n in range(1, 4):
            rows.add(("a", 0), ("b", 0))
            assert sorted(rows.wait_for_lines(2 * n)[-2:]) == [f"a {n}", f"b {n}"]
        assert query.lastProgress is None, "no micro-batch has ended"
    finally:
        query.stop()


def test_many_rows_of_many_keys(rows: Rows) -> None:
    """Each key's rows come in their order, its state is right when the epoch ends in between, and is in the store."""
    chance = random.Random(7)
    keys = [f"k{chance.randrange(50)}" for _ in range(3_000)]
    query = rows.start(Count(rows.seen), "5 seconds")
    try:
        for first in range(0, len(keys), 100):
            rows.add(*((k, 0) for k in keys[first : first + 100]))
        found = rows.wait_for_lines(len(keys))
        seen = Counter[str]()
        for line in found:
            key, n = line.split()
            seen[key] += 1
            assert seen[key] == int(n)
        assert seen == Counter(keys)
        wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == len(keys), "end of the micro-batch")
    finally:
        query.stop()
    state = snapline.read_state(str(rows.folder / "checkpoint"), session=rows.spark)
    assert {row.k: row.n for row in state.select("key.k", "value.*").toDF("k", "n").collect()} == seen


def test_a_restart_strategy_begins_the_batch_anew(rows: Rows) -> None:
    """State is that of the newest batch that ended; rows after it come again."""
    query = rows.start(Count(rows.seen), "3 seconds", restart=FixedDelayRestart(attempts=2, delay=0.1))
    try:
        rows.add(("a", 0), ("a", 0))
        wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) == 2, "end of the micro-batch")
        rows.add(("a", 0))
        rows.wait_for_lines(3)
        rows.add(("a", -1))
        wait_for(lambda: "a 4" in rows.lines(), "fourth row")
        assert rows.lines() == ["a 1", "a 2", "a 3", "failed", "a 3", "a 4"]
        assert query.restarts == 1
    finally:
        query.stop()


def test_timers_of_the_clock_fire_though_no_row_comes(rows: Rows) -> None:
    query = rows.start(Ring(rows.seen))
    try:
        rows.add(("a", 300), ("b", 500))
        assert sorted(rows.wait_for_lines(2)) == ["timer a True", "timer b True"]
        assert query.lastProgress is None
    finally:
        query.stop()


def test_values_expire_while_the_batch_lasts(rows: Rows) -> None:
    query = rows.start(Remember(rows.seen))
    try:
        rows.add(("a", 0), ("a", 0))
        assert rows.wait_for_lines(2) == ["a new", "a known"]

        def expires() -> bool:
            before = len(rows.lines())
            time.sleep(2.5)
            rows.add(("a", 0))
            return rows.wait_for_lines(before + 1)[-1] == "a new"

        wait_for(expires, "expiry")
        assert query.lastProgress is None
    finally:
        query.stop()


class ArrowCount(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        counts = np.bincount(state.key_index, minlength=len(state.keys))
        n = pa.array(state.value("n").fill_null(0).to_numpy() + counts)
        state.update("n", n)
        return pa.record_batch([state.keys.column(0), n], names=["k", "n"])


def results_of(rows: Rows, results: Any, lasts: str = "3 seconds") -> Counter[tuple[Any, ...]]:
    """What five rows of two keys leave in the sink, when their micro-batches have ended."""
    writer = rows.writer(results, lasts)
    query = snapline.start(writer)
    try:
        for k in ("a", "b", "a", "a", "b"):
            rows.add((k, 2))
        wait_for(lambda: sum(p["numInputRows"] for p in query.recentProgress) >= 5, "end of the micro-batch")
        return Counter(tuple(row) for row in rows.spark.table("out").collect())
    finally:
        query.stop()


def test_a_function_of_arrow(rows: Rows) -> None:
    found = results_of(rows, snapline.key_by(rows.df, "k").process(ArrowCount(), SCHEMA))
    assert {("a", 3), ("b", 2)} <= set(found)


def test_short_forms(rows: Rows) -> None:
    found = results_of(rows, snapline.key_by(rows.df, "k").sum("v"))
    assert found == Counter([("a", 2), ("a", 4), ("a", 6), ("b", 2), ("b", 4)])


@pytest.mark.parametrize("kind", ["aggregation", "deduplication"])
def test_sparks_own_operators_on_our_store(rows: Rows, kind: str) -> None:
    if kind == "aggregation":
        results = rows.df.groupBy("k").agg(F.count("*").alias("n"))
        assert {("a", 3), ("b", 2)} <= set(results_of(rows, results))
    else:
        assert results_of(rows, rows.df.dropDuplicates(["k"])) == Counter([("a", 2), ("b", 2)])


def test_other_queries_see_nothing_of_it(rows: Rows, spark: SparkSession) -> None:
    before = spark.conf.get(PROVIDER)
    query = rows.start(Count(rows.seen), LONG)
    try:
        assert spark.conf.get(PROVIDER) == before
        assert spark.conf.get("spark.sql.streaming.realTimeMode.allowlistCheck", "true") == "true"
    finally:
        query.stop()


def test_spark_starts_it_too(rows: Rows, spark: SparkSession) -> None:
    """As the page says, with settings in the place of `snapline.start`."""
    provider = str(spark.conf.get(PROVIDER))
    check = "spark.sql.streaming.realTimeMode.allowlistCheck"
    spark.conf.unset(PROVIDER)
    spark.conf.set(check, "false")
    spark.conf.set("spark.snapline.real-time.provider", provider)
    try:
        counts = snapline.key_by(rows.df, "k").process(Count(rows.seen), SCHEMA)
        query = rows.writer(counts).option("asyncProgressTrackingEnabled", "false").start()
        try:
            rows.add(("a", 0), ("a", 0))
            assert rows.wait_for_lines(2) == ["a 1", "a 2"]
        finally:
            query.stop()
    finally:
        spark.conf.unset(check)
        spark.conf.set(PROVIDER, provider)
