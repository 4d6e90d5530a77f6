"""A worker that stops where it is when the time is up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from snapline import KeyedProcessFunction
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


class Waits(KeyedProcessFunction):
    """Waits for others in each row, and is slow in the sixth; counts how many rows are under way at once."""

    def open(self, ctx: Any) -> None:
        self.running = self.most = 0
        ctx.get_metrics_group().gauge("most", lambda: self.most)

    async def process_element(self, row: Any, ctx: Any) -> Any:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        if row.n == 5:
            Hurried.now += 0.06
        self.running -= 1
        yield row.k, row.n


def waited(rows: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[int], float]:
    """What there was time for, how many rows of each chunk were left, and how many were under way at once."""
    monkeypatch.setattr(time_limit, "monotonic", lambda: Hurried.now)
    Hurried.left = []
    Hurried.now = 0.0
    harness = run(Waits(), rows, link=Hurried, bounds=Bounds(chunk_rows=4))
    return harness.output(), Hurried.left, harness.metrics["most"]


def test_rows_of_a_busy_key_that_waits_are_left_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = waited([(1, n) for n in range(11)], monkeypatch)
    assert found == ([(1, n) for n in range(6)], [0, 2, 3], 1)


def test_other_keys_run_at_once_under_a_limit_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    output, left, most = waited([(n % 4, n) for n in range(11)], monkeypatch)
    assert (sorted(output), left, most) == (sorted((n % 4, n) for n in range(8)), [0, 0, 3], 4)
