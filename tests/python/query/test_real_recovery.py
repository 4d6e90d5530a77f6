"""Recovery on Spark itself: output, logs and the state after every batch equal those of a run without a crash."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from snapline.query import CheckpointRef, HadoopFiles, Recovery

from ..folder.fakes import Crash
from ..query import real_query
from .crashing import CrashingFiles
from .real_query import RealQuery

BEFORE, ALL = 5, 8
CHECKPOINT_BATCH = 1


class Lived:
    """What a run without a crash left: output, state by batch, and the logs without their clock times."""

    def __init__(self, query: RealQuery) -> None:
        self.output = query.output()
        self.state = {batch: query.state(batch) for batch in query.batches("commits")}
        self.commits = query.log("commits")
        self.watermarks = [entry.partition(b"batchTimestampMs")[0] for entry in query.log("offsets").values()]


@pytest.fixture(scope="module")
def lived(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    query = RealQuery(spark, tmp_path_factory.mktemp("lived"))
    query.add_input(0, BEFORE)
    query.go_on()
    query.add_input(BEFORE, ALL)
    query.go_on()
    lived = Lived(query)
    # Windows of three keys were closed and windows are open; two batches had no data.
    assert len(lived.output) > 20
    assert all(lived.state.values())
    assert len(lived.commits) == ALL + 2
    return lived


@pytest.fixture(params=[True, False], ids=["planned", "committed"])
def crashed(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> RealQuery:
    """A query that has died: the newest batch is in the sink and its commit is not there, or it is."""
    query = RealQuery(spark, tmp_path)
    query.add_input(0, BEFORE)
    query.go_on()
    query.lose_state(CHECKPOINT_BATCH, commits_too=request.param)
    return query


def check(query: RealQuery, lived: Lived, logs: tuple[dict[int, bytes], dict[int, bytes]]) -> None:
    assert (query.log("offsets"), query.log("commits")) == logs
    assert not (query.checkpoint / "snapline" / "replay").exists()
    query.add_input(BEFORE, ALL)
    query.go_on()
    found = Lived(query)
    assert found.commits == lived.commits
    assert found.watermarks == lived.watermarks
    assert found.state == lived.state
    assert found.output == lived.output


def test_recovers(crashed: RealQuery, lived: Lived) -> None:
    logs = crashed.log("offsets"), crashed.log("commits")
    assert crashed.recover(CHECKPOINT_BATCH) == range(CHECKPOINT_BATCH + 1, BEFORE + 1)
    check(crashed, lived, logs)


@pytest.mark.parametrize("seed", [1])
def test_recovers_through_crashes(crashed: RealQuery, lived: Lived, seed: int) -> None:
    """On the real file system; some crashes fall into Spark's run, before or after its commit."""
    logs = crashed.log("offsets"), crashed.log("commits")
    chance = random.Random(seed)
    files = CrashingFiles(HadoopFiles(crashed.session, str(crashed.checkpoint)))
    for _ in range(12):
        files.fuse = chance.randrange(30)
        with contextlib.suppress(Crash):
            Recovery(files).run(CheckpointRef(1, CHECKPOINT_BATCH), dying(crashed.run_batch, chance))
    files.fuse = None
    Recovery(files).run(CheckpointRef(1, CHECKPOINT_BATCH), crashed.run_batch)
    check(crashed, lived, logs)


def dying(run_batch: Callable[[int], None], chance: random.Random) -> Callable[[int], None]:
    def run(batch: int) -> None:
        if chance.random() < 0.2:
            raise Crash
        run_batch(batch)
        if chance.random() < 0.2:
            raise Crash

    return run


@pytest.mark.parametrize("crashed", [True], indirect=True)
def test_recovers_when_the_driver_is_gone(crashed: RealQuery, lived: Lived) -> None:
    logs = crashed.log("offsets"), crashed.log("commits")
    died = subprocess.run(
        [sys.executable, "-m", "tests.python.query.real_query", crashed.work, str(CHECKPOINT_BATCH), "3"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(real_query.__file__).parents[3],
    )
    assert died.returncode == 9, died.stderr[-3000:]
    files = HadoopFiles(crashed.session, str(crashed.checkpoint))
    pending = Recovery(files).pending()
    assert pending is not None
    ran: list[int] = []

    def run(batch: int) -> None:
        ran.append(batch)
        crashed.run_batch(batch)

    Recovery(files).run(pending.ref, run)
    assert ran == [4, 5]
    check(crashed, lived, logs)


def test_without_recovery_the_state_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    """What the above would not show if the state had been left in place."""
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    query.go_on()
    query.lose_state(0, commits_too=False)
    query.add_input(3, 4)
    with pytest.raises(Exception, match="does not exist"):
        query.go_on()


class TwoSources(RealQuery):
    """Each with a watermark of its own; the lower one counts."""

    def result(self) -> DataFrame:
        return self.windows(self.rows("a", "10 seconds").unionByName(self.rows("b", "10 seconds")))


def test_a_watermark_that_a_replay_does_not_know_is_put_back(spark: SparkSession, tmp_path: Path) -> None:
    """The second source goes silent. A replay is a restart: Spark does not know then how far its watermark had come."""
    query = TwoSources(spark, tmp_path)
    for number, second in enumerate([0, 60, 70, 80]):
        query.add_file("a", number, [second])
    query.add_file("b", 0, [50])
    query.go_on()
    logs = query.log("offsets"), query.log("commits")
    state = {batch: query.state(batch) for batch in logs[1]}
    query.lose_state(0, commits_too=False)
    replayed = {}

    def run(batch: int) -> None:
        query.run_batch(batch)
        replayed[batch] = query.log("commits")[batch]

    query.recover(0, run)
    assert [batch for batch in replayed if replayed[batch] != logs[1][batch]] == [1]
    assert (query.log("offsets"), query.log("commits")) == logs
    assert {batch: query.state(batch) for batch in logs[1]} == state
