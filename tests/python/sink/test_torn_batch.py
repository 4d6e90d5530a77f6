"""A batch without state that is split in another way when it comes again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.savepoint import rescale_checkpoint
from snapline.sink import SinkPartition

from .ledger import Ledger, rows_of
from .queries import forget_commit, give, run, stream

ROWS = [(k, 1) for k in range(8)]


class Query:
    """Into a ledger, in a number of partitions that each start says."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        spark.sparkContext.addPyFile(str(Path(__file__).with_name("ledger.py")))
        self._spark = spark
        self.input, self.checkpoint, self.path = folder / "input", folder / "checkpoint", str(folder / "ledger.db")
        Ledger.made(self.path)

    def start(self, partitions: int, sink: Ledger | None = None, by: Column | None = None) -> None:
        rows = stream(self._spark, self.input).repartition(partitions, *([] if by is None else [by]))
        writer = rows.writeStream.option("checkpointLocation", str(self.checkpoint))
        own = Ledger(self.path) if sink is None else sink
        run(snapline.exactly_once(writer, forced=True, name="a/ledger").to(own))

    def fail_in_part(self) -> None:
        """Of two partitions, the second is committed."""

        class Fails(Ledger):
            def open(self, partition: SinkPartition) -> None:
                super().open(partition)
                if partition.partition == 0:
                    end = time.monotonic() + 60
                    while not self.db.execute("select part from markers").fetchall():
                        assert time.monotonic() < end, "the second partition was not committed"
                        time.sleep(0.05)
                    raise RuntimeError("on purpose")

        with pytest.raises(Exception, match="on purpose"):
            self.start(2, Fails(self.path))

    def fail(self, partitions: int) -> None:
        class Fails(Ledger):
            def begin(self) -> None:
                raise RuntimeError("on purpose")

        with pytest.raises(Exception, match="on purpose"):
            self.start(partitions, Fails(self.path))

    def rows(self) -> Sequence[tuple[int, int]]:
        return sorted(rows_of(self.path))

    def notes(self) -> list[str]:
        return sorted(path.name for path in (self.checkpoint / "snapline/sinks/a%2Fledger").glob("[0-9]*"))


def test_a_batch_in_part_is_refused_in_another_number_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    give(query.input, "0", ROWS)
    query.fail_in_part()
    there = query.rows()
    assert 0 < len(there) < len(ROWS)
    for partitions in (1, 3, 1):
        refused = rf"SNAPLINE-INCOMPATIBLE.*had 2 partitions, and has {partitions} now.*spark\.sql\.files"
        with pytest.raises(Exception, match=refused):
            query.start(partitions)
        assert query.rows() == there
    query.start(2)
    assert query.rows() == ROWS


def test_a_batch_of_which_the_sink_has_nothing_may_be_split_anew(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    give(query.input, "0", ROWS)
    query.fail(2)
    assert query.notes() == ["0-2"]
    query.fail(1)
    assert query.notes() == ["0-1", "0-2"]
    query.start(3)
    assert query.rows() == ROWS
    assert query.notes() == ["0-1", "0-2", "0-3"]
    forget_commit(query.checkpoint, 0)
    with pytest.raises(Exception, match=r"SNAPLINE-INCOMPATIBLE.*had 3 partitions, and has 2 now"):
        query.start(2)
    query.start(3)
    assert query.rows() == ROWS


def test_a_query_whose_batches_have_one_number_of_partitions_makes_one_note(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = Query(spark, tmp_path)
    for batch in range(3):
        give(query.input, str(batch), [(k, batch) for k in range(8)])
        query.start(2)
    assert query.notes() == ["0-2"]
    give(query.input, "3", ROWS)
    query.start(1)
    assert query.notes() == ["3-1"]
    assert len(query.rows()) == 32


def test_rows_that_have_gone_to_another_partition_are_noticed(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    give(query.input, "0", ROWS)
    query.fail_in_part()
    # All of them go to the first partition, and the second, which the sink has, gets none.
    first = spark.range(100).where(F.pmod(F.hash(F.col("id").cast("int")), F.lit(2)) == 0).first()
    assert first is not None
    with pytest.raises(Exception, match=r"SNAPLINE-NOT-DETERMINISTIC.*partition 1 of.*rows=0"):
        query.start(2, by=F.col("k") * 0 + first.id)


def test_a_rescaled_folder_that_keeps_its_id_goes_by_the_markers(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)

    def start(checkpoint: Path, sink: Ledger) -> None:
        sums = stream(spark, query.input).groupBy("k").agg(F.sum("v").alias("v"))
        writer = sums.writeStream.outputMode("update").option("checkpointLocation", str(checkpoint))
        run(snapline.exactly_once(writer, forced=True, name="ledger").to(sink))

    class FailsInPart(Ledger):
        def open(self, partition: SinkPartition) -> None:
            super().open(partition)
            if partition.partition == 0 and partition.batch == 1:
                end = time.monotonic() + 60
                while not self.db.execute("select part from markers where batch = 1").fetchall():
                    assert time.monotonic() < end, "no other partition was committed"
                    time.sleep(0.05)
                raise RuntimeError("on purpose")

    give(query.input, "0", ROWS)
    start(query.checkpoint, Ledger(query.path))
    give(query.input, "1", ROWS)
    with pytest.raises(Exception, match="on purpose"):
        start(query.checkpoint, FailsInPart(query.path))
    there = query.rows()
    assert 8 < len(there) < 16
    for partitions in (1, 3):
        rescaled = tmp_path / f"in-{partitions}"
        rescale_checkpoint(spark, str(query.checkpoint), str(rescaled), parallelism=partitions, keep_query_id=True)
        with pytest.raises(Exception, match=rf"SNAPLINE-INCOMPATIBLE.*had 2 partitions, and has {partitions} now"):
            start(rescaled, Ledger(query.path))
        assert query.rows() == there
    start(query.checkpoint, Ledger(query.path))
    assert len(query.rows()) == 16
