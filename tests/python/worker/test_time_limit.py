"""A worker that stops where it is when the time is up."""

from __future__ import annotations

from typing import Any

import pytest

from snapline.testing import Bounds
from snapline.testing.links import InProcessLink
from snapline.worker import time_limit
from snapline.worker.frames import Frame, ToOperator, ToWorker
from snapline.worker.time_limit import TimeLimit

from .test_task import Plain, run


def test_rows_are_handed_on_as_long_as_there_is_time() -> None:
    limit = TimeLimit(60_000)
    assert list(limit.within(range(1000))) == list(range(1000))
    assert limit.processed == 1000
    assert not limit.is_over


def test_one_row_is_begun_and_then_none() -> None:
    limit = TimeLimit(0)
    assert not limit.is_over
    assert list(limit.within("abc")) == ["a"]
    assert limit.is_over
    assert list(limit.within("def")) == []


class Hurried(InProcessLink):
    """Gives the worker 50 ms for its rows, by a clock of its own, and keeps how many of each chunk it left."""

    left: list[int]
    now: float

    def send(self, frame: Frame) -> None:
        if frame.kind == ToWorker.SETUP:
            frame.meta["time_left_ms"] = 50
        super().send(frame)

    def receive(self) -> Frame:
        frame = super().receive()
        if frame.kind == ToOperator.DONE:
            type(self).left.append(frame.meta["left"])
        return frame


def test_what_there_was_no_time_for_is_left_wherever_it_is_in_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "monotonic", lambda: Hurried.now)

    def slow_from_the_sixth(row: Any, ctx: Any) -> Any:
        if row.n == 5:
            Hurried.now += 0.06
        yield row.k, row.n

    Hurried.left = []
    Hurried.now = 0.0
    harness = run(Plain(slow_from_the_sixth), [(1, n) for n in range(11)], link=Hurried, bounds=Bounds(chunk_rows=4))
    assert harness.output() == [(1, n) for n in range(6)]
    assert Hurried.left == [0, 2, 3]
