from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import snapline

from .queries import forget_commit, give, run, stream


def test_a_batch_that_was_written_is_skipped_and_its_state_is_made(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint, written = tmp_path / "checkpoint", []
    once = snapline.once(spark, str(tmp_path / "markers"))

    def write(df: DataFrame, batch: int) -> None:
        written.append((batch, sorted(row.k for row in df.collect())))

    def start() -> None:
        rows = stream(spark, tmp_path / "input").dropDuplicates(["k"])
        run(rows.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(once(write)))

    give(tmp_path / "input", "0", [(1, 0), (2, 0)])
    start()
    forget_commit(checkpoint, 0)
    start()
    assert written == [(0, [1, 2])]
    give(tmp_path / "input", "1", [(2, 0), (3, 0)])
    start()
    assert written == [(0, [1, 2]), (1, [3])]
    assert [path.name for path in (tmp_path / "markers").rglob("*") if path.name.isdigit()] == ["1"]


def test_a_write_that_fails_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    attempts = []
    once = snapline.once(spark, str(tmp_path / "markers"))

    @once
    def write(df: DataFrame, batch: int) -> None:
        attempts.append(batch)
        assert len(attempts) > 1, "on purpose"

    give(tmp_path / "input", "0", [(1, 0)])
    rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="on purpose"):
        run(rows.foreachBatch(write))
    run(rows.foreachBatch(write))
    assert attempts == [0, 0]


def test_options_for_delta_name_query_and_batch(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    once = snapline.once(spark, str(tmp_path / "markers"))
    give(tmp_path / "input", "0", [(1, 0)])
    rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = run(rows.foreachBatch(once(lambda df, batch: found.append(once.delta_options(df, batch)))))
    assert found == [{"txnAppId": f"{query.id}/main", "txnVersion": "0"}]
