"""Changelogs that go to storage behind the batches: a restart replays nothing, and they are copies that may go."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.cli.numbered import restart_text
from snapline.inspect import CheckpointFolder, Restart, verify

from .real_query import wait_for
from .test_replays_apart import Counting, Moments

UPLOADS = CheckpointConfig(interval=timedelta(hours=1), upload_changelogs=True)
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def begin(counting: Counting, config: CheckpointConfig = UPLOADS) -> Any:
    """Four batches more, behind a checkpoint of the run's first one."""
    counting.add_input()
    query = snapline.start(counting.writer(), config, path=str(counting.work / "output"))
    query.processAllAvailable()
    return query


def run(counting: Counting, config: CheckpointConfig = UPLOADS) -> Any:
    query = begin(counting, config)
    query.stop()
    return query


def takes_all(query: Any) -> bool:
    """Without a failure of the run that is under way."""
    try:
        query.processAllAvailable()
    except StreamingQueryException:
        return False
    return True


def changelogs(counting: Counting) -> list[Path]:
    return sorted((counting.checkpoint / "state").rglob("*.changelog"))


def versions(counting: Counting) -> set[int]:
    return {int(path.name.partition("_")[0]) for path in changelogs(counting)}


def is_everywhere(counting: Counting, version: int) -> bool:
    """Each store has copied its changelog."""
    copies = [path for path in changelogs(counting) if path.name.startswith(f"{version}_")]
    return str(len(copies)) == counting.session.conf.get("spark.sql.shuffle.partitions")


def output(counting: Counting) -> list[tuple[int, int]]:
    rows = counting.session.read.parquet(str(counting.work / "output")).collect()
    return sorted((row[0], row[1]) for row in rows)


def test_restarts_replay_nothing(spark: SparkSession, tmp_path: Path) -> None:
    counting = Counting(spark, tmp_path)
    for first in (0, 4, 8):
        assert run(counting).recovery is None
        found = verify(CheckpointFolder(counting.checkpoint))
        number = first // 4 + 1
        assert (found.findings, found.restart) == ((), Restart(number, batch=first + 3, lag=0, changelogs=3))
    counting.settle()
    assert counting.state() == {0: 6, 1: 6}
    assert output(counting) == sorted((key, n) for key in (0, 1) for n in range(1, 7))


def test_the_state_is_the_one_that_was_and_not_one_made_again(spark: SparkSession, tmp_path: Path) -> None:
    """Without the copies each restart replays; with them it does not, although the function is the same."""
    moments = Counting(spark, tmp_path, Moments())
    run(moments, CheckpointConfig(interval=timedelta(hours=1)))
    assert run(moments).recovery.replayed == range(1, 4)
    assert run(moments).recovery is None


def test_what_a_checkpoint_has_goes(spark: SparkSession, tmp_path: Path) -> None:
    counting = Counting(spark, tmp_path)
    query = begin(counting)
    try:
        # A copy that comes after the checkpoint is the next run's to sweep.
        wait_for(lambda: is_everywhere(counting, 4))
        query.trigger_checkpoint()
        counting.add_input()
        query.processAllAvailable()
        wait_for(lambda: versions(counting) == {5, 6, 7, 8})
    finally:
        query.stop()
    # Those of this run are the next one's to sweep.
    query = begin(counting)
    try:
        wait_for(lambda: min(versions(counting)) > 4)
    finally:
        query.stop()


def test_without_the_setting_there_are_none(spark: SparkSession, tmp_path: Path) -> None:
    counting = Counting(spark, tmp_path)
    run(counting, CheckpointConfig(interval=timedelta(hours=1)))
    assert changelogs(counting) == []


@pytest.mark.parametrize("version", ["1", "2"])
def test_each_format_of_sparks_checkpoints(spark: SparkSession, tmp_path: Path, version: str) -> None:
    counting = Counting(spark.newSession(), tmp_path)
    counting.session.conf.set(FORMAT, version)
    run(counting)
    assert ("stateUniqueIds" in (counting.checkpoint / "commits/3").read_text()) == (version == "2")
    assert run(counting).recovery is None
    counting.settle()
    assert counting.state() == {0: 4, 1: 4}


@pytest.mark.parametrize("harm", ["one is missing", "the newest is torn"])
def test_where_some_are_missing_the_rest_is_replayed(spark: SparkSession, tmp_path: Path, harm: str) -> None:
    counting = Counting(spark, tmp_path)
    run(counting)
    newest = [path for path in changelogs(counting) if path.name.startswith("4_")]
    if harm == "one is missing":
        newest[0].unlink()
    else:
        newest[0].write_bytes(newest[0].read_bytes()[:-7])
    restart = verify(CheckpointFolder(counting.checkpoint)).restart
    assert restart == Restart(checkpoint=1, batch=2, lag=1, changelogs=2)
    assert restart_text(restart).startswith(
        "A restart takes checkpoint 1 and the changelogs of 2 batches after it, the state after batch 2. "
        "1 batch since then, rebuilt by replay"
    )
    query = run(counting)
    assert query.recovery.replayed == range(3, 4)
    assert re.match("Recovered from checkpoint 1, the state after batch 2: 1 batches replayed", str(query.recovery))
    counting.settle()
    assert counting.state() == {0: 4, 1: 4}


def test_one_that_is_damaged_within_leads_to_a_replay_from_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    counting = Counting(spark, tmp_path)
    run(counting)
    harmed = next(path for path in changelogs(counting) if path.name.startswith("3_"))
    data = bytearray(harmed.read_bytes())
    data[20] ^= 1
    harmed.write_bytes(data)
    assert verify(CheckpointFolder(counting.checkpoint)).damaged
    counting.add_input()
    query = snapline.start(counting.writer(), UPLOADS, path=str(counting.work / "output"))
    # The first batch fails before it has done anything, and the query starts again.
    wait_for(lambda: takes_all(query))
    query.stop()
    assert query.recovery is not None
    # The batch that failed was planned.
    assert (query.recovery.checkpoint, query.recovery.replayed) == (1, range(1, 5))
    assert not list(counting.checkpoint.rglob("*.damaged"))
    counting.settle()
    assert counting.state() == {0: 4, 1: 4}
    assert output(counting) == sorted((key, n) for key in (0, 1) for n in range(1, 5))


def test_a_checkpoint_that_is_named_is_gone_back_to(spark: SparkSession, tmp_path: Path) -> None:
    counting = Counting(spark, tmp_path)
    run(counting)
    counting.add_input()
    query = snapline.start(counting.writer(), UPLOADS, path=str(counting.work / "output"), restore=1)
    try:
        assert query.recovery is not None
        assert query.recovery.replayed == range(1, 4)
        query.processAllAvailable()
    finally:
        query.stop()
    counting.settle()
    assert counting.state() == {0: 4, 1: 4}
