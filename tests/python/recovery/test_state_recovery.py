"""The state that a start goes on from, and what a failure of its run does to that choice. Without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from snapline.errors import IncompatibleState, StateNotFound, StorageFailure
from snapline.folder.interval_mark import INTERVAL_MARK
from snapline.query import CheckpointRef, Recovery
from snapline.recovery.replay import ReplayStopped
from snapline.recovery.state_recovery import StateRecovery

from ..folder.fakes import FakeFiles, FakeSpark
from ..folder.test_metadata import add

STORE = "memory:/checkpoint/state/0/1"


def damage(version: int, store: str = STORE) -> RuntimeError:
    return RuntimeError(f"[SNAPLINE-DAMAGED] Version {version} of the state in {store} is damaged: it is cut. Do: x.")


class Killed(BaseException):
    """The process is gone."""


class Query:
    """Committed up to batch 5, with batch 6 planned, and with checkpoints 3, 4 and 5 of the batches 1, 3 and 4.

    Attributes:
        fails: called before a batch is replayed.
        restored: the checkpoint that each recovery has named to the driver.
    """

    def __init__(self) -> None:
        self.files = FakeFiles()
        self.spark = FakeSpark(self.files, 1)
        self.spark.write_logs(5, 6)
        for number, batch in [(3, 1), (4, 3), (5, 4)]:
            add(self.files, self.spark, number, batch)
        self.files.put(INTERVAL_MARK, b"-1")
        self.recovery = Recovery(self.files)
        self.fails: Callable[[int], None] = lambda batch: None
        self.restored: list[int] = []
        self.is_taken_over = False
        self.rows: dict[int, int] = {}

    def start(self) -> StateRecovery:
        """A process that has begun; the fakes of writer, sink, driver and replay are this."""
        fakes: Any = self
        files: Any = self.files
        return StateRecovery(fakes, files, fakes, fakes, self.recovery, fakes, settings={}, prefer_checkpoint=False)

    def has(self, batch: int) -> bool:
        return False

    def restoreFrom(self, number: int) -> None:  # the driver's name
        self.restored.append(number)

    def leaveAfter(self, number: int) -> None:  # the driver's name
        pass

    def isTakenOver(self) -> bool:  # the driver's name
        return self.is_taken_over

    @contextmanager
    def recovering(self) -> Iterator[None]:
        yield

    def __call__(self, batch: int) -> None:
        self.fails(batch)
        self.spark.run_batch(batch)

    @property
    def checkpoints(self) -> list[int]:
        return [number for number in (3, 4, 5) if f"snapline/chk-{number}/_metadata" in self.files.files]


def test_a_checkpoint_that_does_not_load_is_quarantined() -> None:
    query = Query()

    def fails(batch: int) -> None:
        if query.restored == [5]:
            raise damage(5)

    query.fails = fails
    report = query.start().run()
    assert report is not None
    assert (report.checkpoint, query.restored, query.checkpoints) == (4, [5, 4], [3, 4])
    assert query.spark.runs == [4, 5, 6]


def test_one_is_quarantined_too_where_the_query_itself_loads_it() -> None:
    query = Query()
    state = query.start()
    state.run()
    assert state.set_aside(damage(5))
    assert query.checkpoints == [3, 4]
    # It is out of the way already.
    assert not state.set_aside(damage(5))


OTHERS = {
    "another folder's state": damage(5, "memory:/other/state/0/1"),
    "the note of a cut": RuntimeError("[SNAPLINE-DAMAGED] memory:/checkpoint/snapline/cuts/5/0-1: cut. Do: x."),
    "a state that the run has made": damage(8),
}


@pytest.mark.parametrize("failure", OTHERS.values(), ids=OTHERS)
def test_other_damage_leaves_the_checkpoints(failure: RuntimeError) -> None:
    query = Query()
    state = query.start()
    state.run()
    assert not state.set_aside(failure)
    assert query.checkpoints == [3, 4, 5]


@pytest.mark.parametrize("name", ["another folder's state", "the note of a cut"])
def test_other_damage_fails_a_replay(name: str) -> None:
    query = Query()

    def fails(batch: int) -> None:
        raise OTHERS[name]

    query.fails = fails
    with pytest.raises(RuntimeError) as failed:
        query.start().run()
    assert failed.value is OTHERS[name]
    assert (query.restored, query.checkpoints) == ([5], [3, 4, 5])


def failing_at(batch: int, failure: BaseException) -> Callable[[int], None]:
    def fails(number: int) -> None:
        if number == batch:
            raise failure

    return fails


def start_twice(query: Query, failure: BaseException, chosen: CheckpointRef | None = None) -> None:
    """It fails at batch 6, and then its program is another one."""
    query.fails = failing_at(6, failure)
    with pytest.raises(type(failure)):
        query.start().run(chosen)
    query.fails = lambda batch: None
    query.start().run()


def name_of(failure: BaseException) -> str:
    return type(failure).__name__


FAILING = [RuntimeError("the function"), IncompatibleState("its commit differs.", "start it as it was.")]


@pytest.mark.parametrize("failure", FAILING, ids=name_of)
def test_a_replay_that_has_failed_begins_anew(failure: Exception) -> None:
    """The next start may be of the program before, and batch 5 was replayed by this one."""
    query = Query()
    start_twice(query, failure)
    assert query.spark.runs == [5, 5, 6]


def test_it_begins_with_the_checkpoint_that_was_chosen_by_hand() -> None:
    query = Query()
    start_twice(query, RuntimeError("the function"), CheckpointRef(3, 1))
    assert (query.restored, query.spark.runs) == ([3, 3], [2, 3, 4, 5, 2, 3, 4, 5, 6])


KEEPING = [
    ReplayStopped("batch 6 was being run again."),
    StateNotFound("its input is gone.", "bring it back."),
    StorageFailure("the disk is full.", "make room."),
    Killed(),
]


@pytest.mark.parametrize("failure", KEEPING, ids=name_of)
def test_a_replay_that_was_only_cut_short_goes_on(failure: BaseException) -> None:
    query = Query()
    start_twice(query, failure, CheckpointRef(3, 1))
    assert (query.restored, query.spark.runs) == ([3, 3], [2, 3, 4, 5, 6])


def test_a_recovery_of_another_driver_is_left_alone() -> None:
    query = Query()
    query.is_taken_over = True
    start_twice(query, RuntimeError("stopped"))
    assert query.spark.runs == [5, 6]


def killed_behind_batch_5(*failures: tuple[int, RuntimeError]) -> Query:
    """The next process has these failures before it runs a batch, each once."""
    query = Query()
    query.fails = failing_at(6, Killed())
    with pytest.raises(Killed):
        query.start().run()
    left = list(failures)

    def fails(batch: int) -> None:
        if left and left[0][0] == batch:
            raise left.pop(0)[1]

    query.fails = fails
    return query


def test_a_rebuilt_state_that_is_damaged_is_rebuilt_once_more() -> None:
    """After a power failure the files that a replay has written may be empty. The checkpoint is sound."""
    query = killed_behind_batch_5((6, damage(6)))
    report = query.start().run()
    assert report is not None
    assert (report.checkpoint, report.replayed, query.checkpoints) == (5, range(5, 7), [3, 4, 5])
    assert query.spark.runs == [5, 5, 6]


def test_it_is_not_rebuilt_again_and_again() -> None:
    query = killed_behind_batch_5((6, damage(6)), (6, damage(6)))
    with pytest.raises(RuntimeError, match="Version 6"):
        query.start().run()
    assert query.checkpoints == [3, 4, 5]
    query.start().run()
    assert query.spark.runs == [5, 5, 5, 6]


def test_the_checkpoint_is_quarantined_if_it_does_not_load_then() -> None:
    query = killed_behind_batch_5((6, damage(6)), (5, damage(5)))
    report = query.start().run()
    assert report is not None
    assert (report.checkpoint, query.checkpoints) == (4, [3, 4])
    assert query.spark.runs == [5, 4, 5, 6]
