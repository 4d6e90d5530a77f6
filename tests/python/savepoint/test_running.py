"""Savepoints of queries that run, and queries that begin with one."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.errors import InvalidConfiguration, QueryTakenOver, StorageFailure
from snapline.inspect import SavepointFolder
from snapline.query import HadoopFiles
from snapline.recovery.replay import ReplayStopped
from snapline.savepoint import create_savepoint, read_savepoint, read_state, rescale_checkpoint, restore_savepoint
from snapline.savepoint.dispose import dispose_savepoint

from ..query.real_query import wait_for
from .queries import StatefulQuery

RARELY = CheckpointConfig(interval=timedelta(hours=1))


def writer(query: StatefulQuery, checkpoint: str) -> Any:
    """Totals per key, batch by batch into files that stand for a sink."""
    output = query.work / f"{checkpoint}-output"
    output.mkdir(exist_ok=True)

    def keep(batch: DataFrame, number: int) -> None:
        (output / f"{number:03}").write_text("\n".join(sorted(map(repr, batch.collect()))))

    rows = query.plain_rows().groupBy("k").count()
    return (
        rows.writeStream.outputMode("update")
        .foreachBatch(keep)
        .option("checkpointLocation", str(query.work / checkpoint))
    )


def total(path: Path, session: SparkSession) -> int:
    return int(read_state(str(path), session=session).agg({"value.count": "sum"}).head()[0])  # type: ignore[index]


@pytest.mark.parametrize("config", [CheckpointConfig(), RARELY], ids=["every batch", "interval"])
def test_stops_with_all_it_has_done_and_goes_on(spark: SparkSession, tmp_path: Path, config: CheckpointConfig) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(4))
    running = snapline.start(writer(query, "one"), config)
    running.processAllAvailable()
    metadata = running.stop_with_savepoint(str(tmp_path / "savepoint"))
    assert not running.isActive
    assert metadata.batch == 3
    assert total(tmp_path / "savepoint", spark) == 4 * 60
    query.add_input(range(4, 5))
    # Begun once, and then gone on with.
    for last in (5, 6):
        query.add_input(range(last, last + 1))
        again = snapline.start(writer(query, "two"), config, from_savepoint=str(tmp_path / "savepoint"), parallelism=3)
        again.processAllAvailable()
        again.stop()
    outputs = sorted(int(file.name) for file in (tmp_path / "two-output").iterdir())
    assert outputs == [4, 5, 6]
    assert again.id != metadata.query
    # The script is started once more, and its savepoint is gone.
    dispose_savepoint(HadoopFiles(spark, str(tmp_path / "savepoint")))
    with pytest.raises(InvalidConfiguration, match="was begun with the savepoint"):
        snapline.start(writer(query, "two"), config, from_savepoint=str(tmp_path / "another"), parallelism=3)
    query.add_input(range(7, 8))
    again = snapline.start(writer(query, "two"), config, from_savepoint=str(tmp_path / "savepoint"), parallelism=3)
    again.processAllAvailable()
    again.stop()
    assert len(list((tmp_path / "two-output").iterdir())) == 4


def test_a_query_that_another_driver_has_taken_over_leaves_the_folder_to_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(2))
    running = snapline.start(writer(query, "one"), RARELY)
    running.processAllAvailable()
    claim = tmp_path / f"one/snapline/claims/1000_{uuid.uuid4()}"
    claim.write_text("{}")
    with pytest.raises(QueryTakenOver):
        running.stop_with_savepoint(str(tmp_path / "savepoint"))
    assert claim.exists()
    assert not (tmp_path / "savepoint").exists()


def test_a_stop_ends_the_batch_that_is_run_for_a_savepoint(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(1))
    entered: list[int] = []

    def keep(batch: DataFrame, number: int) -> None:
        batch.collect()
        if number > 0:
            entered.append(number)
            batch.sparkSession.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 600000L + id)").collect()

    rows = query.plain_rows().groupBy("k").count().writeStream.outputMode("update").foreachBatch(keep)
    running = snapline.start(rows.option("checkpointLocation", str(tmp_path / "one")), RARELY)
    running.processAllAvailable()
    query.add_input(range(1, 2))
    wait_for(lambda: entered == [1])
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(running.stop_with_savepoint, str(tmp_path / "savepoint"))
        wait_for(lambda: entered == [1, 1])
        running.stop()
        with pytest.raises(ReplayStopped, match="a batch was being run to its end"):
            asked.result(60)
    assert not any(str(each.id) == str(running.id) for each in spark.streams.active)


def test_a_running_query_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(2))
    running = snapline.start(writer(query, "one"), RARELY)
    try:
        running.processAllAvailable()
        query.add_input(range(2, 3))
        metadata = running.savepoint(str(tmp_path / "savepoint"))
        assert metadata.checkpoint is not None
        SavepointFolder(tmp_path / "savepoint").verify()
        running.processAllAvailable()
        # What was kept for it is gone with it.
        assert not (tmp_path / f"one/snapline/chk-{metadata.checkpoint}/_metadata").exists()
    finally:
        running.stop()
    assert total(tmp_path / "savepoint", spark) == (metadata.batch + 1) * 60


def test_another_savepoint_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(1))
    query.run("one")
    for name in ("a", "b"):
        create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / name))
    restore_savepoint(spark, str(tmp_path / "a"), str(tmp_path / "two"))
    with pytest.raises(InvalidConfiguration, match="was begun with"):
        snapline.start(writer(query, "two"), from_savepoint=str(tmp_path / "b"))


def test_a_query_that_runs_keeps_its_id_to_itself(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(1))
    running = snapline.start(writer(query, "one"))
    try:
        running.processAllAvailable()
        running.savepoint(str(tmp_path / "a"))
        with pytest.raises(InvalidConfiguration, match="is running"):
            restore_savepoint(spark, str(tmp_path / "a"), str(tmp_path / "two"), keep_query_id=True)
        assert not (tmp_path / "two").exists()
    finally:
        running.stop()
    restore_savepoint(spark, str(tmp_path / "a"), str(tmp_path / "two"), keep_query_id=True)
    assert (tmp_path / "two/metadata").read_bytes() == (tmp_path / "one/metadata").read_bytes()


@pytest.mark.parametrize("batches", [1, 4, 12])
def test_a_fresh_folder_of_the_file_sink(spark: SparkSession, tmp_path: Path, batches: int) -> None:
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "3")
    query = StatefulQuery(spark, tmp_path, "dedup")
    query.add_input(range(batches))
    query.run("one")
    create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / "savepoint"))
    query.add_input(range(batches, batches + 7))
    rows = query.plain_rows().dropDuplicates(["k", "v"]).drop("t")
    files = rows.writeStream.option("checkpointLocation", str(tmp_path / "two")).trigger(availableNow=True)
    try:
        snapline.start(
            files.format("parquet"), path=str(tmp_path / "out"), from_savepoint=str(tmp_path / "savepoint")
        ).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.fileSink.log.compactInterval")
    assert spark.read.parquet(str(tmp_path / "out")).count() > 0
    assert any(path.name.endswith(".compact") for path in (tmp_path / "out/_spark_metadata").iterdir())
    with pytest.raises(InvalidConfiguration, match="has batches up to"):
        restore_savepoint(spark, str(tmp_path / "savepoint"), str(tmp_path / "three"), file_sink=str(tmp_path / "out"))
    assert not (tmp_path / "three").exists()


def test_says_that_the_sink_is_ahead(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(2))
    running = snapline.start(writer(query, "one"), RARELY)
    running.processAllAvailable()
    newest = running.trigger_checkpoint()
    query.add_input(range(2, 5))
    running.processAllAvailable()
    running.stop()
    ahead = "that after batch 1, and batches up to 4 were committed"
    create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / "behind"))
    assert ahead in caplog.text
    caplog.clear()
    rescale_checkpoint(spark, str(tmp_path / "one"), str(tmp_path / "rescaled"), parallelism=3)
    assert ahead in caplog.text
    # Whoever names a checkpoint knows which.
    caplog.clear()
    create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / "named"), number=newest)
    again = snapline.start(writer(query, "one"), RARELY)
    again.stop_with_savepoint(str(tmp_path / "level"))
    assert "were committed" not in caplog.text
    assert read_savepoint(HadoopFiles(spark, str(tmp_path / "level"))).batch == 4


def test_has_the_batch_that_was_planned(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(2))
    running = snapline.start(writer(query, "one"), RARELY)
    running.processAllAvailable()
    running.trigger_checkpoint()
    query.add_input(range(2, 3))
    running.processAllAvailable()
    running.stop()
    # As a driver leaves it that is killed when the sink has the batch.
    for name in ("2", ".2.crc"):
        (tmp_path / "one/commits" / name).unlink(missing_ok=True)
    metadata = create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / "savepoint"))
    assert (metadata.batch, metadata.checkpoint) == (1, 2)
    assert metadata.planned == (tmp_path / "one/offsets/2").read_text()
    assert "Batch 2 of" in caplog.text


def test_leaves_no_checkpoint_when_nobody_waits_for_it(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(1))
    running = snapline.start(writer(query, "one"), RARELY)
    try:
        running.processAllAvailable()
        wait_for(lambda: running.checkpoints()["counts"]["completed"] == 1)
        with pytest.raises(StorageFailure, match="within 0 s"):
            running.savepoint(str(tmp_path / "savepoint"), timeout=0)
        wait_for(lambda: running.checkpoints()["counts"]["completed"] == 2)
        kept = tmp_path / "one/snapline"
        wait_for(lambda: [path.parent.name for path in kept.glob("chk-*/_metadata")] == ["chk-1"])
    finally:
        running.stop()
