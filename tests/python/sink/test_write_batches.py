from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.errors import InvalidConfiguration

from .ledger import Ledger, rows_of
from .queries import forget_commit, give, run, stream


def test_a_batch_that_runs_again_is_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    spark.sparkContext.addPyFile(str(Path(__file__).with_name("ledger.py")))
    path, checkpoint = str(tmp_path / "ledger.db"), tmp_path / "checkpoint"
    sink = Ledger.made(path)

    def start() -> None:
        rows = stream(spark, tmp_path / "input").dropDuplicates(["k"])
        run(snapline.exactly_once(rows.writeStream.option("checkpointLocation", str(checkpoint)), forced=True).to(sink))

    give(tmp_path / "input", "0", [(k, 1) for k in range(10)])
    start()
    give(tmp_path / "input", "1", [(k, 2) for k in range(20)])
    start()
    expected = [(k, 1 if k < 10 else 2) for k in range(20)]
    assert sorted(rows_of(path)) == expected
    forget_commit(checkpoint, 1)
    start()
    assert sorted(rows_of(path)) == expected
    with sqlite3.connect(path) as db:
        assert {batch for (batch,) in db.execute("select batch from markers")} == {1}


def test_other_rows_for_a_batch_that_is_there_fail(spark: SparkSession, tmp_path: Path) -> None:
    path, checkpoint = str(tmp_path / "ledger.db"), tmp_path / "checkpoint"
    sink = Ledger.made(path)
    give(tmp_path / "input", "0", [(1, 1), (2, 2)])

    def start(rows: DataFrame) -> None:
        run(snapline.exactly_once(rows.writeStream.option("checkpointLocation", str(checkpoint))).to(sink))

    start(stream(spark, tmp_path / "input"))
    forget_commit(checkpoint, 0)
    with pytest.raises(Exception, match="SNAPLINE-NOT-DETERMINISTIC"):
        start(stream(spark, tmp_path / "input").withColumn("v", F.col("v") + 1))
    assert sorted(rows_of(path)) == [(1, 1), (2, 2)]


def test_each_output_has_a_sink_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    main, side = (Ledger.made(str(tmp_path / name)) for name in ("main.db", "side.db"))
    tag = snapline.OutputTag("odd", "k int, v long")

    class Split(snapline.ProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Any:
            yield (tag, (row.k, row.v)) if row.k % 2 else (row.k, row.v)

    checkpoint = tmp_path / "checkpoint"
    give(tmp_path / "input", "0", [(k, 0) for k in range(6)])

    def start() -> None:
        found = snapline.process(stream(spark, tmp_path / "input"), Split(), "k int, v long", side_outputs=[tag])
        outputs = snapline.each_output(
            snapline.write_batches(main, "main"), {tag: snapline.write_batches(side, "side")}
        )
        run(found.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(outputs))

    start()
    forget_commit(checkpoint, 0)
    start()
    assert sorted(rows_of(main.path)) == [(0, 0), (2, 0), (4, 0)]
    assert sorted(rows_of(side.path)) == [(1, 0), (3, 0), (5, 0)]


def test_two_sinks_of_one_name_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Of one database, the second one's rows would pass for those of the first."""
    path, checkpoint = str(tmp_path / "ledger.db"), tmp_path / "checkpoint"
    Ledger.made(path)
    give(tmp_path / "input", "0", [(1, 1)])

    def start(*names: str | None) -> None:
        sinks = [snapline.write_batches(Ledger(path), name) for name in names]

        def write(df: DataFrame, batch: int) -> None:
            for sink in sinks:
                sink(df, batch)

        rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(checkpoint))
        run(rows.foreachBatch(write))

    for _ in range(2):
        with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*a second time as Ledger"):
            start(None, None)
    assert sorted(rows_of(path)) == [(1, 1)]
    start(None, "other")
    assert sorted(rows_of(path)) == [(1, 1), (1, 1)]
    first, second = (snapline.write_batches(Ledger(path)) for _ in range(2))
    with pytest.raises(InvalidConfiguration, match="two outputs of one query are written as Ledger"):
        snapline.each_output(first, {"odd": second})


def test_outside_of_a_query_there_are_no_batches(spark: SparkSession, tmp_path: Path) -> None:
    write = snapline.write_batches(Ledger.made(str(tmp_path / "ledger.db")))
    with pytest.raises(InvalidConfiguration, match="no streaming query"):
        write(spark.range(1).toDF("k"), 0)


@pytest.mark.parametrize("sink", [Ledger, "ledger"])
def test_no_sink_is_refused(sink: object) -> None:
    with pytest.raises(InvalidConfiguration, match="TransactionalSink"):
        snapline.write_batches(sink)  # type: ignore[arg-type]
