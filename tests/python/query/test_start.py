"""`snapline.start` on Spark itself: queries that fail, and go on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import snapline
from snapline.query import CheckpointConfig, SupervisedQuery

from .real_query import RealQuery

SELDOM = CheckpointConfig(interval=timedelta(hours=1))


def start(query: RealQuery, config: CheckpointConfig = SELDOM) -> SupervisedQuery:
    writer = query.result().writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(query.checkpoint))
    return snapline.start(writer, config, path=str(query.work / "output"))


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
