"""Queries that cannot run in real-time mode: each is told why, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import CheckpointConfig
from snapline.errors import InvalidConfiguration
from snapline.plan.real_time import check_real_time
from snapline.spark_line import spark_line

from .rows import SCHEMA, Count, Rows


class Grouped(snapline.KeyedProcessFunction):
    def process_batch(self, key: Any, rows: Iterable[Any], ctx: Any) -> Iterable[Any]:
        return ()


def refused(rows: Rows, writer: Any, reason: str, config: CheckpointConfig | None = None) -> None:
    with pytest.raises(InvalidConfiguration, match=reason):
        snapline.start(writer, config)
    assert not (rows.folder / "checkpoint").exists()


@pytest.mark.skipif(
    spark_line() != "4.2", reason="from Spark 4.3 on it works, and before 4.2 PySpark has no such trigger"
)
def test_the_line_of_spark_that_it_needs(spark: SparkSession, tmp_path: Path) -> None:
    ticks = spark.readStream.format("rate").load().selectExpr("string(value) AS k", "value AS v")
    counts = snapline.key_by(ticks, "k").process(Count(tmp_path / "seen"), SCHEMA)
    writer: Any = counts.writeStream.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(InvalidConfiguration, match=r"needs Spark 4\.3"):
        snapline.start(writer.format("console").trigger(realTime="5 seconds"))


def test_what_needs_a_whole_batch(rows: Rows) -> None:
    keyed = snapline.key_by(rows.df, "k")
    refused(rows, rows.writer(keyed.order_by("v").process(Count(rows.seen), SCHEMA)), "has order_by")
    refused(rows, rows.writer(keyed.process(Grouped(), SCHEMA)), "process_batch")


def test_how_it_is_started(rows: Rows) -> None:
    def counts() -> Any:
        return snapline.key_by(rows.df, "k").process(Count(rows.seen), SCHEMA)

    refused(rows, rows.writer(counts()), "unaligned", CheckpointConfig(unaligned=True))
    refused(rows, rows.writer(counts()).outputMode("append"), r"set outputMode\(\"update\"\)")
    refused(rows, rows.writer(counts()).foreachBatch(lambda df, number: None), "foreachBatch does not write rows")
    once = snapline.exactly_once(rows.writer(counts()), forced=True)
    refused(rows, once.jdbc("jdbc:derby:x", "t"), "an exactly-once sink")


def test_operators_that_sparks_mode_does_not_have(rows: Rows) -> None:
    first = snapline.key_by(rows.df, "k").process(Count(rows.seen), SCHEMA)
    refused(rows, rows.writer(first.mapInArrow(lambda batches: batches, SCHEMA)), "MapInArrow.*not among the operators")
    sums = rows.df.groupBy(F.col("k")).count().limit(3)
    refused(rows, rows.writer(sums), "Limit.*not among the operators")


class First:
    """A function of Scala's typed API; nothing of it runs here."""

    class Java:
        implements: ClassVar = ["org.apache.spark.api.java.function.MapFunction"]

    def call(self, row: Any) -> Any:
        return row.getString(0)


def test_typed_groups_are_let_in(rows: Rows, spark: SparkSession) -> None:
    """Spark's transformWithState in Scala begins with them."""
    jvm: Any = spark._jvm
    ensure_callback_server_started(spark.sparkContext._gateway)
    java: Any = rows.df._jdf
    counts = java.groupByKey(First(), jvm.org.apache.spark.sql.Encoders.STRING()).count()
    assert "AppendColumns" in counts.queryExecution().analyzed().toString()
    check_real_time(rows.writer(DataFrame(counts.toDF(), spark)), CheckpointConfig())


def test_cores_that_are_missing(rows: Rows, spark: SparkSession) -> None:
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "9")
    try:
        refused(rows, rows.writer(snapline.key_by(rows.df, "k").sum("v")), r"8 cores: 2 are missing")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
