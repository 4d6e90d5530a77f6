"""Real-time mode, without Spark: the end of a micro-batch, as a query tells of it, and one that did not end."""

from __future__ import annotations

from typing import Any

import pytest

from snapline.folder.end_of_time import END_OF_TIME_MS
from snapline.query import CheckpointConfig, Recovery, real_time
from snapline.query.runs import Runs

from ..folder.fakes import FakeFiles, FakeSpark, batches


class Telling:
    """A query that says one thing after the other of its newest batch, and ends when all is said."""

    def __init__(self, *batches: int | None) -> None:
        self.left = list(batches)

    @property
    def isActive(self) -> bool:  # Spark's name
        return bool(self.left)

    @property
    def lastProgress(self) -> Any:  # Spark's name
        batch = self.left.pop(0)
        return None if batch is None else {"batchId": batch}


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ((4, 4, 5, 6), 1),
        ((None, None, 0, 1), 1),
        # It was started again: its batch begins anew.
        ((4, None, None, 5, 6), 1),
        ((4, 4), 0),
    ],
)
def test_a_batch_has_ended_when_a_later_one_is_told_of(
    said: tuple[int | None, ...], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_time, "_POLL", 0)
    query = Telling(*said)
    real_time.wait_for_batch_end(query)
    assert len(query.left) == left


class Beneath:
    """The coordinator, and the recovery of the state: notes the batches that are planned when it begins."""

    def __init__(self, files: FakeFiles) -> None:
        self._files = files
        self.planned: list[int] = []

    def claimFolder(self) -> None:  # the coordinator's name
        pass

    def recovering(self) -> None:
        pass

    def isCompleting(self) -> bool:  # the coordinator's name
        return False

    def run(self, chosen: object) -> None:
        self.planned = batches(self._files, "offsets")


@pytest.mark.parametrize(
    ("is_real_time", "watermark", "newest"), [(True, 5000, 5), (False, 5000, 6), (True, END_OF_TIME_MS, 6)]
)
def test_a_batch_that_was_only_planned_is_not_recovered(
    is_real_time: bool, watermark: int, newest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark begins it anew with other rows; but for the last one of a drain, which is run to its end."""
    files = FakeFiles()
    FakeSpark(files, 1).write_logs(5, 5)
    files.put("offsets/6", f'v1\n{{"batchWatermarkMs":{watermark}}}\n{{"n":6}}'.encode())
    monkeypatch.setattr(Runs, "is_real_time", is_real_time)
    beneath = Beneath(files)
    runs: Any = object.__new__(Runs)
    runs._files, runs._recovery, runs._config = files, Recovery(files), CheckpointConfig()
    runs._state = runs.driver = beneath
    runs.report = None
    runs.recover()
    assert beneath.planned == list(range(newest + 1))
