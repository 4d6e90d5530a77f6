"""``stop_with_savepoint(drain=True)``: event time ends, so windows close and timers fire, into the sink."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import CheckpointConfig
from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.savepoint import read_state, restore_savepoint

from .queries import StatefulQuery, keyed, sessions

RARELY = CheckpointConfig(interval=timedelta(hours=1))


def windows(rows: DataFrame) -> DataFrame:
    """Of windows, one after the other."""
    minutes = rows.groupBy(F.window("t", "1 minute"), "k").agg(F.count("*").alias("n"))
    hours = F.window(F.window_time("window"), "1 hour")
    return minutes.groupBy(hours, "k").agg(F.sum("n").alias("n"), F.count("*").alias("minutes"))


class Drained:
    """A query over two batches, drained; ``output`` is what the sink has by then."""

    def __init__(self, session: SparkSession, work: Path, plan: Any, config: CheckpointConfig) -> None:
        self.query, self.plan, self.work = StatefulQuery(session, work, "aggregation"), plan, work
        self.query.add_input(range(2))
        self.output: list[Any] = []
        running = snapline.start(self.writer("one"), config)
        running.processAllAvailable()
        self.before = len(self.output)
        self.metadata = running.stop_with_savepoint(str(work / "savepoint"), drain=True)
        assert not running.isActive

    def writer(self, checkpoint: str) -> Any:
        def keep(batch: DataFrame, number: int) -> None:
            self.output += [row.asDict(recursive=True) for row in batch.collect()]

        writer = self.plan(self.query.rows()).writeStream.outputMode("append").foreachBatch(keep)
        return writer.option("checkpointLocation", str(self.work / checkpoint))

    def whole(self, session: SparkSession) -> list[Any]:
        """What the plan makes of all rows at once."""
        rows = session.read.schema("t long, k long, v long, name string").json(str(self.work / "input"))
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


def test_a_savepoint_without_drain_leaves_windows_open(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "sessions")
    query.add_input(range(2))
    writer = sessions(query.rows()).writeStream.outputMode("append").format("noop")
    running = snapline.start(writer.option("checkpointLocation", str(tmp_path / "one")))
    running.processAllAvailable()
    running.stop_with_savepoint(str(tmp_path / "savepoint"))
    assert read_state(str(tmp_path / "savepoint"), session=spark).count() > 0
