"""One micro-batch of the operator without Spark, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from snapline.functions.context import EVENT, PROCESSING
from snapline.state.cursor import NEVER, BatchTime
from snapline.testing.bounds import Bounds
from snapline.testing.broadcasting import broadcast_chunks
from snapline.testing.chunks import Chunk, RowChunks
from snapline.testing.exchange import TIMERS, BatchResult, Exchange
from snapline.testing.links import Link
from snapline.testing.operator_states import StoredOperatorStates
from snapline.testing.states import StoredState
from snapline.testing.store import Store
from snapline.worker.frames import Frame
from snapline.worker.job import Job

MakeLink = Callable[[Callable[[Frame], Frame | None]], Link]


@dataclass(frozen=True)
class Parts:
    """An operator's own, which outlive a micro-batch."""

    job: Job
    schemas: dict[int, pa.Schema]
    states: Sequence[StoredState]
    operator_states: StoredOperatorStates
    store: Store
    bounds: Bounds


class MicroBatch:
    """The frames of a task in their order, and the store behind them.

    Args:
        setup: the frame that begins the task.
        is_live: whether it is one of real-time mode: an epoch stays open from row to row, until a tick, and each chunk
            names the time of the clock.
    """

    def __init__(self, parts: Parts, time: BatchTime, link: MakeLink, setup: Frame, *, is_live: bool = False) -> None:
        self._parts = parts
        self._time = time
        self._is_live = is_live
        self._exchange = Exchange(parts.schemas, parts.states, parts.store, parts.bounds, parts.operator_states)
        self._rows = RowChunks(parts.job, parts.schemas, parts.states, parts.bounds, self._exchange.held)
        self._exchange.link = link(self._exchange.answer)
        self._exchange.link.send(setup)
        self._exchange.run(parts.operator_states.frames())

    def broadcast(self, rows: Sequence[Any]) -> None:
        """Rows of the broadcast stream, in the order of all partitions."""
        self._run(broadcast_chunks(rows, self._parts.schemas, self._parts.bounds.chunk_rows))

    def rows(self, rows: Sequence[Any]) -> None:
        """Rows as tuples."""
        self._run(self._rows.of(rows, stays_open=self._is_live))

    def tick(self, processing: int) -> None:
        """It is that time: the epoch ends, and the timers of the clock that are due fire."""
        self._time = replace(self._time, processing=processing)
        self._end_epoch()
        self._fire((None, processing))

    def fire_timers(self) -> None:
        """Fires those that are due at the end of the micro-batch."""
        self._end_epoch()
        is_bounded = self._time.is_bounded
        self._fire((NEVER, NEVER) if is_bounded else (self._time.watermark, self._time.processing))

    def output(self) -> list[pa.RecordBatch]:
        """All that it has put out so far and that nobody has taken."""
        return self._exchange.take_output()

    def end(self) -> BatchResult:
        """Closes the function and removes what has expired."""
        self._end_epoch()
        result = self._exchange.end()
        self._parts.operator_states.mark()
        if not self._time.is_bounded:
            for state in self._parts.states:
                state.clean_up(self._time)
        return result

    def _end_epoch(self) -> None:
        self._run(self._rows.last())

    def _fire(self, due: tuple[int | None, int | None]) -> None:
        while any(self._fire_domain(domain, due) for domain in (EVENT, PROCESSING)):
            pass

    def _fire_domain(self, domain: int, due: tuple[int | None, int | None]) -> bool:
        """Rounds of the due timers of one domain, the earliest first, until there are none; whether there were any."""
        limit = due[domain]
        has_fired = False
        while limit is not None:
            found = [timer for timer in timers_of(self._parts.store) if timer[1] == domain and timer[0] <= limit]
            if not found:
                break
            taken, left = found[: self._parts.bounds.chunk_rows], found[self._parts.bounds.chunk_rows :]
            # Some timers of one time may be left: up to here the store has none any more.
            through = min(taken[-1][0], left[0][0] - 1) if left else taken[-1][0]
            for timer in taken:
                self._parts.store.delete(TIMERS, timer)
            self._run([Chunk.of_timers(self._parts.job, self._parts.schemas, self._parts.states, taken, through, due)])
            has_fired = True
        return has_fired

    def _run(self, chunks: Iterable[Chunk]) -> None:
        self._exchange.run(self._in_time(chunks) if self._is_live else chunks)

    def _in_time(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            chunk.frame.meta["now_ms"] = self._time.processing
            yield chunk


def timers_of(store: Store) -> list[tuple[int, int, Any]]:
    """Those in the store, in order: time, domain, key."""
    return sorted((key for key, _ in store.items(TIMERS)), key=lambda timer: (timer[0], timer[1], repr(timer)))
