"""A batch is one file, whenever a life ends: without that, no two lives of the drills could be compared."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from .expected import make_input
from .feed import Feed, remove
from .job import SCHEMA
from .work import Work


def test_a_kill_between_the_log_of_the_source_and_that_of_the_query_puts_no_two_files_into_a_batch(
    tmp_path: Path,
) -> None:
    make_input(tmp_path / "files", 6)
    work = Work(folder=str(tmp_path / "work"), queries=("chains",))
    checkpoint = work.checkpoint("chains")
    feed = Feed(tmp_path / "files", [work])
    feed.give(3)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        batches(spark, work)
        # As a kill leaves them there: the source has planned its third file, the query no third batch.
        for log in ("commits", "offsets"):
            remove(checkpoint / log / "2")
        feed.give_all()
        assert batches(spark, work) == [12] * 4, "rows of the third file and of each after it"
    finally:
        spark.stop()


def batches(spark: SparkSession, work: Work) -> list[int]:
    """Rows in each batch of a run over all that is there."""
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(work.input("chains")))
    writer = rows.writeStream.option("checkpointLocation", str(work.checkpoint("chains"))).trigger(availableNow=True)
    query = writer.format("noop").start()
    query.awaitTermination()
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
