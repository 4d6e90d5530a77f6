"""The end of a micro-batch in real-time mode, as a query tells of it."""

from __future__ import annotations

from typing import Any

import pytest

from snapline.query import real_time


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
