"""A function, and the micro-batches it is given: once by the harness, once by Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from snapline import OutputTag
from snapline.testing import BroadcastInput


@dataclass(frozen=True)
class Scenario:
    """Rows are tuples of the schema; the first columns of the output are the key.

    Attributes:
        delay: of the watermark on ``event_time``; it moves after each micro-batch, as Spark moves it.
        restart: the query is stopped and started again between micro-batches.
        bounds: settings of the exchange, small enough to matter.
        key: without one the function has two partitions, of which the first gets all rows.
        broadcasts: rows of a broadcast stream, for each micro-batch.
        broadcast: its columns and states.
        windows: makes the output of the keyed stream, in the place of a function.
    """

    name: str
    function: Callable[[], Any] | None
    schema: str
    output: str
    batches: Sequence[Sequence[tuple[Any, ...]]]
    key: tuple[str, ...] = ("k",)
    event_time: str | None = None
    delay: timedelta = timedelta(0)
    side_outputs: tuple[OutputTag, ...] = ()
    late_output: str | None = None
    restart: bool = False
    bounds: tuple[tuple[str, int], ...] = ()
    broadcasts: Sequence[Sequence[tuple[Any, ...]]] = ()
    broadcast: BroadcastInput | None = None
    windows: Callable[[Any], Any] | None = None

    def make(self) -> Any:
        assert self.function is not None
        return self.function()


def at(minute: int) -> datetime:
    return datetime(2024, 3, 1) + timedelta(minutes=minute)
