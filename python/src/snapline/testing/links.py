"""How the operator without Spark reaches a worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from snapline.worker.frames import Frame, ToOperator
from snapline.worker.job import Job
from snapline.worker.worker import Worker


class Link(Protocol):
    """Frames to a worker and from it, for one task."""

    def send(self, frame: Frame) -> None:
        """Sends a frame to the worker."""

    def receive(self) -> Frame:
        """The worker's next frame."""

    def overtaken(self) -> Iterator[Frame]:
        """Frames that the worker sent before the FETCH that is being answered, and that were not received yet."""


class InProcessLink:
    """A worker in this thread: it works off what was sent when an answer is wanted.

    Args:
        job: what the worker runs.
        answer: gives the answer to a FETCH, which cannot wait; None if there is none.
    """

    def __init__(self, job: Job, answer: Callable[[Frame], Frame | None]) -> None:
        self._to_worker: deque[Frame] = deque()
        self._replies: deque[Frame] = deque()
        self._worker = Worker(job, _WorkerSide(self._replies, answer))

    def send(self, frame: Frame) -> None:
        self._to_worker.append(frame)

    def receive(self) -> Frame:
        while not self._replies:
            try:
                self._worker.handle(self._to_worker.popleft())
            except BaseException:
                self._worker.abandon()
                raise
        return self._replies.popleft()

    def overtaken(self) -> Iterator[Frame]:
        while self._replies:
            yield self._replies.popleft()


class _WorkerSide:
    def __init__(self, replies: deque[Frame], answer: Callable[[Frame], Frame | None]) -> None:
        self._replies = replies
        self._answer = answer

    def send(self, kind: int, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> None:
        frame = Frame(kind, meta, dict(parts))
        if kind == ToOperator.FETCH:
            self._answer(frame)
        else:
            self._replies.append(frame)

    def fetch(self, meta: dict[str, Any], parts: Sequence[tuple[int, pa.Buffer]]) -> Frame:
        found = self._answer(Frame(ToOperator.FETCH, meta, dict(parts)))
        assert found is not None, "only giving up a scan has no answer"
        return found
