"""Queries that keep no state: an interval would be of nothing, and must not hold them up."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig, SupervisedQuery
from snapline.query import Journal

CONFIGS = [
    CheckpointConfig(interval=timedelta(hours=1)),
    CheckpointConfig(interval=timedelta(hours=1), mode="AT_LEAST_ONCE"),
]
RETAINED = 3


class Passing:
    """Rows that pass through, a file of them in a batch."""

    def __init__(self, session: SparkSession, work: Path) -> None:
        self.session = session
        self.work = work
        self.checkpoint = work / "checkpoint"

    def add_input(self, first: int, last: int) -> None:
        (self.work / "input").mkdir(exist_ok=True)
        for number in range(first, last):
            (self.work / f"input/{number:03}.json").write_text(json.dumps({"value": number}))

    def run(self, config: CheckpointConfig) -> SupervisedQuery:
        """Takes in all that is there."""
        rows = self.session.readStream.schema("value long").option("maxFilesPerTrigger", 1)
        writer = rows.json(str(self.work / "input")).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        query = snapline.start(writer, config, path=str(self.work / "output"))
        query.awaitTermination()
        return query

    def output(self) -> list[int]:
        return sorted(row.value for row in self.session.read.parquet(str(self.work / "output")).collect())

    def batches(self, log: str) -> list[int]:
        return sorted(int(path.name) for path in (self.checkpoint / log).iterdir() if path.name.isdigit())


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Passing:
    query = Passing(spark, tmp_path)
    query.add_input(0, 4)
    return query


@pytest.mark.parametrize("config", CONFIGS, ids=["exactly once", "at least once"])
def test_no_start_runs_a_batch_again(query: Passing, config: CheckpointConfig) -> None:
    query.run(config)
    assert query.batches("commits") == [0, 1, 2, 3]
    assert not (query.checkpoint / "snapline/interval").exists()
    shutil.rmtree(query.work / "input")
    query.add_input(4, 6)
    assert query.run(config).recovery is None
    assert query.output() == list(range(6))
    assert query.batches("commits") == list(range(6))


def test_its_logs_are_purged(query: Passing) -> None:
    setting = "spark.sql.streaming.minBatchesToRetain"
    query.session.conf.set(setting, str(RETAINED))
    try:
        query.add_input(4, 12)
        query.run(CONFIGS[0])
    finally:
        query.session.conf.unset(setting)
    assert len(query.batches("offsets")) <= RETAINED + 1


@pytest.mark.parametrize("config", [CheckpointConfig(), CONFIGS[0]], ids=["every batch", "interval"])
def test_a_mark_of_an_earlier_version_goes(query: Passing, config: CheckpointConfig) -> None:
    """With a recovery that had begun: from the first batch on, whose input is gone."""
    query.run(CheckpointConfig())
    (query.checkpoint / "snapline").mkdir(exist_ok=True)
    (query.checkpoint / "snapline/interval").write_text("-1")
    replay = query.checkpoint / "snapline/replay"
    for log in ("offsets", "commits"):
        (replay / log).mkdir(parents=True)
        for batch in query.batches(log):
            (query.checkpoint / log / str(batch)).rename(replay / log / str(batch))
            (query.checkpoint / log / f".{batch}.crc").rename(replay / log / f".{batch}.crc")
    (replay / "hidden").touch()
    (replay / "journal").write_bytes(Journal(0, -1, 3, 3).to_bytes())
    shutil.rmtree(query.work / "input")
    query.add_input(4, 6)
    query.run(config)
    assert query.output() == list(range(6))
    assert not (query.checkpoint / "snapline/interval").exists()
    assert not replay.exists()
    assert query.batches("commits") == list(range(6))
