"""The parts that the three process methods have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from snapline.functions.context import Context
from snapline.state.cursor import BatchTime, Cursor
from snapline.worker.frames import Frame
from snapline.worker.job import Job
from snapline.worker.keys import SlotKeys
from snapline.worker.outputs import Outputs
from snapline.worker.remote_state import RemoteState
from snapline.worker.time_limit import TimeLimit
from snapline.worker.timers import Timers


@dataclass(frozen=True)
class Parts:
    """The parts of a task."""

    job: Job
    function: Any
    context: Context
    cursor: Cursor
    keys: SlotKeys
    states: list[RemoteState]
    timers: Timers
    outputs: Outputs
    schemas: dict[int, pa.Schema]
    time: BatchTime
    zone: str
    limit: TimeLimit | None
    chunk_bytes: int
    batch_key: str


class RowLoop(ABC):
    """Hands the rows of a task to the function."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    #: Whether the state of a chunk goes into the caches before its rows are run.
    uses_caches = True

    @abstractmethod
    def run(self, frame: Frame) -> int:
        """The rows of a frame; how many of the last ones there was no time for."""

    def finish(self) -> None:  # noqa: B027 (most have nothing to do)
        """The rows of the epoch have been run."""

    def close(self) -> None:
        """The task has ended: closes the function."""
        self._parts.function.close()

    def changes(self) -> Iterator[tuple[int, pa.Buffer]]:
        """Parts with changes of state that are in no cache."""
        return iter(())
