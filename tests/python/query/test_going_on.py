"""`snapline.start` on Spark itself: queries that fail, and go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline.query import CheckpointConfig, SupervisedQuery

from .real_query import RealQuery

SELDOM = CheckpointConfig(interval=timedelta(hours=1))


def start(query: RealQuery, config: CheckpointConfig = SELDOM) -> SupervisedQuery:
    writer = query.result().writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(query.checkpoint))
    return snapline.start(writer, config, path=str(query.work / "output"))


@pytest.fixture
def short_logs(spark: SparkSession) -> Iterator[None]:
    """Spark's 100 batches would take long."""
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "2")
    yield
    spark.conf.unset("spark.sql.streaming.minBatchesToRetain")


def test_an_interval_begins_with_what_every_batch_has_made_durable(
    spark: SparkSession, tmp_path: Path, short_logs: None
) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 6)
    query.go_on()
    assert min(query.batches("offsets")) > 0
    query.add_input(6, 9)
    newest = max(query.batches("commits"))

    def dies(batch: DataFrame, number: int) -> None:
        raise OSError("before the first checkpoint")

    def start_into(sink: Callable[[DataFrame, int], None]) -> SupervisedQuery:
        writer = query.result().writeStream.foreachBatch(sink).trigger(availableNow=True)
        return snapline.start(writer.option("checkpointLocation", str(query.checkpoint)), SELDOM)

    with pytest.raises(StreamingQueryException, match="before the first checkpoint"):
        start_into(dies).awaitTermination()
    rows: list[tuple[object, ...]] = []
    start_into(lambda batch, _: rows.extend(map(tuple, batch.collect()))).awaitTermination()
    assert max(query.batches("commits")) == newest + 4
    whole = RealQuery(spark, tmp_path / "whole")
    whole.add_input(0, 9)
    whole.go_on()
    assert len(query.output()) + len(rows) == len(whole.output())


def test_a_batch_that_the_sink_passes_over_is_no_barrier(spark: SparkSession, tmp_path: Path) -> None:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    start(query).awaitTermination()
    newest = str(max(query.batches("commits")))
    # As if it had died between the sink's commit and its own.
    for name in (newest, f".{newest}.crc"):
        (query.checkpoint / "commits" / name).unlink()
    query.add_input(3, 6)
    again = start(query)
    again.awaitTermination()
    counts = again.checkpoints()["counts"]
    assert counts["completed"] > 0
    assert counts["failed"] == counts["in_progress"] == 0
