"""``stop_with_savepoint(drain=True)``: event time ends, so windows close and timers fire, into the sink."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import CheckpointConfig
from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.folder.end_of_time import END_OF_TIME_MS
from snapline.folder.unaligned import plan_batch_without_data
from snapline.query import HadoopFiles
from snapline.query.runs import Runs
from snapline.recovery.replay import BatchReplay
from snapline.savepoint import create_savepoint, read_state, restore_savepoint

from .queries import StatefulQuery, keyed, sessions

RARELY = CheckpointConfig(interval=timedelta(hours=1))


def windows(rows: DataFrame) -> DataFrame:
    """Of windows, one after the other."""
    minutes = rows.groupBy(F.window("t", "1 minute"), "k").agg(F.count("*").alias("n"))
    hours = F.window(F.window_time("window"), "1 hour")
    return minutes.groupBy(hours, "k").agg(F.sum("n").alias("n"), F.count("*").alias("minutes"))


class Drained:
    """A query over two batches, drained; ``output`` is what the sink has by then."""

    def __init__(
        self, session: SparkSession, work: Path, plan: Any, config: CheckpointConfig, *, dies: bool = False
    ) -> None:
        self.query, self.plan, self.work = StatefulQuery(session, work, "aggregation"), plan, work
        self.query.add_input(range(2))
        self.output: list[Any] = []
        running = snapline.start(self.writer("one"), config)
        running.processAllAvailable()
        self.before = len(self.output)
        try:
            self.metadata = running.stop_with_savepoint(str(work / "savepoint"), drain=True)
        except SystemExit:
            assert dies
        assert not running.isActive

    def writer(self, checkpoint: str) -> Any:
        def keep(batch: DataFrame, number: int) -> None:
            self.output += [row.asDict(recursive=True) for row in batch.collect()]

        writer = self.plan(self.query.rows()).writeStream.outputMode("append").foreachBatch(keep)
        return writer.option("checkpointLocation", str(self.work / checkpoint))

    def whole(self, session: SparkSession) -> list[Any]:
        """What the plan makes of all rows of its two batches at once."""
        files = [str(self.work / "input" / f"{batch:03}.json") for batch in range(2)]
        rows = session.read.schema("t long, k long, v long, name string").json(files)
        table = self.plan(rows.withColumn("t", F.timestamp_seconds("t")))
        return [row.asDict(recursive=True) for row in table.collect()]


@pytest.mark.parametrize("config", [CheckpointConfig(), RARELY], ids=["every batch", "interval"])
@pytest.mark.parametrize("plan", [windows, sessions])
def test_every_window_closes(spark: SparkSession, tmp_path: Path, plan: Any, config: CheckpointConfig) -> None:
    drained = Drained(spark, tmp_path, plan, config)
    assert sorted(map(repr, drained.output)) == sorted(map(repr, drained.whole(spark)))
    assert drained.before < len(drained.output)
    # Nothing is left of them.
    for operator in drained.metadata.operators:
        assert read_state(str(tmp_path / "savepoint"), operator.id, session=spark).count() == 0


def test_every_timer_fires(spark: SparkSession, tmp_path: Path) -> None:
    drained = Drained(spark, tmp_path, keyed, CheckpointConfig())
    rows = [(row["k"], row["fired"]) for row in drained.output]
    keys = {k for k, _ in rows}
    assert keys == {k for k, fired in rows if fired}
    # One timer for each row: no two rows of a key have one time.
    assert Counter(k for k, fired in rows if fired) == Counter(k for k, fired in rows if not fired)
    timers = read_state(str(tmp_path / "savepoint"), state="$eventTimers_timestampToKey", session=spark)
    assert timers.count() == 0


def test_a_drained_query_does_not_go_on(spark: SparkSession, tmp_path: Path) -> None:
    drained = Drained(spark, tmp_path, sessions, CheckpointConfig())
    with pytest.raises(InvalidConfiguration, match="was drained"):
        snapline.start(drained.writer("one"))
    with pytest.raises(IncompatibleState, match="was drained"):
        restore_savepoint(spark, str(tmp_path / "savepoint"), str(tmp_path / "two"))
    with pytest.raises(IncompatibleState, match="was drained"):
        snapline.start(drained.writer("two"), from_savepoint=str(tmp_path / "savepoint"))
    assert not (tmp_path / "two").exists()


def start_fails_as_drained(drained: Drained, config: CheckpointConfig) -> None:
    """More than once, and without another row in the sink."""
    for _ in range(2):
        with pytest.raises(InvalidConfiguration, match="was drained"):
            snapline.start(drained.writer("one"), config)
    assert not (drained.work / "one" / "snapline" / "replay" / "journal").exists()


@pytest.mark.parametrize("config", [CheckpointConfig(), RARELY], ids=["every batch", "interval"])
def test_a_drain_that_was_cut_short_is_ended_by_the_next_start(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: CheckpointConfig
) -> None:
    """Its last batch was planned, and the process was gone."""

    def planned_only(runs: Runs) -> None:
        plan_batch_without_data(HadoopFiles(spark, runs.location), END_OF_TIME_MS)
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Runs, "end_event_time", planned_only)
        drained = Drained(spark, tmp_path, windows, config, dies=True)
    assert len(drained.output) == drained.before
    drained.query.add_input(range(2, 3))
    expected = drained.whole(spark)
    start_fails_as_drained(drained, config)
    assert sorted(map(repr, drained.output)) == sorted(map(repr, expected))


def test_so_is_one_that_was_cut_short_in_the_replay_behind_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up = Runs.catch_up
    kept = replace(RARELY, num_retained=5)

    def killed(replay: BatchReplay, batch: int) -> None:
        raise SystemExit

    def dies(runs: Runs) -> None:
        # The checkpoint of the drain's batch was not complete in time.
        checkpoints = (tmp_path / "one" / "snapline").glob("chk-*/_metadata")
        max(checkpoints, key=lambda path: int(path.parent.name.removeprefix("chk-"))).unlink()
        with monkeypatch.context() as patch:
            patch.setattr(BatchReplay, "__call__", killed)
            catch_up(runs)

    with monkeypatch.context() as patch:
        patch.setattr(Runs, "catch_up", dies)
        drained = Drained(spark, tmp_path, windows, kept, dies=True)
    assert (tmp_path / "one" / "snapline" / "replay" / "journal").exists()
    expected = drained.whole(spark)
    start_fails_as_drained(drained, kept)
    assert sorted(map(repr, drained.output)) == sorted(map(repr, expected))
    # The savepoint that it was to take.
    newest = max(int(path.name) for path in (tmp_path / "one" / "commits").glob("[0-9]*"))
    assert create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / "late")).batch == newest


def test_a_savepoint_without_drain_leaves_windows_open(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "sessions")
    query.add_input(range(2))
    writer = sessions(query.rows()).writeStream.outputMode("append").format("noop")
    running = snapline.start(writer.option("checkpointLocation", str(tmp_path / "one")))
    running.processAllAvailable()
    running.stop_with_savepoint(str(tmp_path / "savepoint"))
    assert read_state(str(tmp_path / "savepoint"), session=spark).count() > 0
