"""The operator without Spark: the other side of the worker's exchange, in Python, over any store and link.

It keeps the order of docs/notes/003-keyed-process.md, holds the worker to it, and is small enough to be read beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from snapline.errors import InternalError
from snapline.functions.context import EVENT, PROCESSING
from snapline.state.cursor import NEVER, BatchTime
from snapline.testing.chunks import Chunk, RowChunks
from snapline.testing.links import Link
from snapline.testing.schemas import exchange_schemas
from snapline.testing.states import StoredState
from snapline.testing.store import Store
from snapline.worker.decode import decoder
from snapline.worker.frames import (
    CHANGES_PART,
    OUTPUT_PART,
    PROTOCOL,
    STATE_PART,
    TIMER_CHANGES_PART,
    Frame,
    ToOperator,
    ToWorker,
)
from snapline.worker.job import Job

TIMERS = "$timers"


@dataclass(frozen=True)
class Bounds:
    """What bounds chunks and epochs; the settings of the real operator are larger."""

    chunk_rows: int = 10_000
    max_keys: int = 200_000
    max_bytes: int = 64 << 20
    max_prefetch: int = 1_000
    page_rows: int = 10_000
    in_flight: int = 2


@dataclass
class BatchResult:
    """What one micro-batch gave."""

    output: list[pa.RecordBatch] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)


class Operator:
    """Runs micro-batches: rows, then due timers, then clean-up."""

    def __init__(self, job: Job, rows: StructType, result: StructType, store: Store, zone: str, bounds: Bounds) -> None:
        self._job = job
        self._store = store
        self._zone = zone
        self._bounds = bounds
        plan = job.plan
        self.schemas = exchange_schemas(rows, job.key_names, result, plan.states, plan.mode, zone)
        self.states = [
            StoredState(i, spec, self.schemas, store, bounds.max_prefetch) for i, spec in enumerate(plan.states)
        ]
        self._batch_id = 0

    def run_batch(
        self,
        rows: Sequence[Any],
        time: BatchTime,
        link: Callable[[Callable[[Frame], Frame | None]], Link],
    ) -> BatchResult:
        """One micro-batch, through a worker of its own.

        Args:
            rows: as tuples.
            time: of the batch; of a bounded one all timers are due.
            link: makes the link, given what answers a FETCH.
        """
        exchange = _Exchange(self.schemas, self.states, self._store, self._bounds)
        exchange.link = link(exchange.answer)
        exchange.link.send(self._setup(time))
        exchange.run(RowChunks(self._job, self.schemas, self.states, self._bounds, exchange.held).of(rows))
        due = (NEVER, NEVER) if time.is_bounded else (time.watermark, time.processing)
        while any(self._fire(exchange, domain, due) for domain in (EVENT, PROCESSING)):
            pass
        result = exchange.end()
        if not time.is_bounded:
            for state in self.states:
                state.clean_up(time)
        self._batch_id += 1
        return result

    def _setup(self, time: BatchTime) -> Frame:
        meta = {
            "protocol": PROTOCOL,
            "mode": self._job.plan.mode,
            "batch_id": self._batch_id,
            "batch_time_ms": time.processing,
            "watermark_ms": time.watermark,
            "partition": 0,
            "partitions": 1,
            "time_zone": self._zone,
            "streaming": not time.is_bounded,
            "max_prefetch": self._bounds.max_prefetch,
        }
        return Frame(ToWorker.SETUP, meta, {part: schema.serialize() for part, schema in self.schemas.items()})

    def timers(self) -> list[tuple[int, int, Any]]:
        """Those in the store, in order: time, domain, key."""
        return sorted(
            (key for key, _ in self._store.items(TIMERS)), key=lambda timer: (timer[0], timer[1], repr(timer))
        )

    def _fire(self, exchange: _Exchange, domain: int, due: tuple[int | None, int | None]) -> bool:
        """Rounds of the due timers of one domain, the earliest first, until there are none; whether there were any."""
        limit = due[domain]
        has_fired = False
        while limit is not None:
            found = [timer for timer in self.timers() if timer[1] == domain and timer[0] <= limit]
            if not found:
                break
            taken, left = found[: self._bounds.chunk_rows], found[self._bounds.chunk_rows :]
            # Of timers of one time some may be left: up to here the store has none any more.
            through = min(taken[-1][0], left[0][0] - 1) if left else taken[-1][0]
            for timer in taken:
                self._store.delete(TIMERS, timer)
            exchange.run([Chunk.of_timers(self._job, self.schemas, self.states, taken, through, due)])
            has_fired = True
        return has_fired


class _Exchange:
    """The frames of one task: at most so many chunks under way, and nothing read past an epoch that is not applied."""

    link: Link

    def __init__(
        self, schemas: dict[int, pa.Schema], states: Sequence[StoredState], store: Store, bounds: Bounds
    ) -> None:
        self._schemas = schemas
        self._states = states
        self._store = store
        self._bounds = bounds
        self._keys: list[Any] = []
        self._under_way: deque[bool] = deque()
        self._scans: dict[int, Iterator[list[tuple[Any, Any]]]] = {}
        self._changes: list[Frame] = []
        self._awaits_epoch = False
        self._held = 0
        self._result = BatchResult()

    def held(self) -> int:
        """What the worker said last."""
        return self._held

    def run(self, chunks: Iterable[Chunk]) -> None:
        """Sends chunks and works off the answers; the chunks are made, and the store read, one by one."""
        for chunk in chunks:
            self._keys.extend(chunk.keys)
            self.link.send(chunk.frame)
            self._under_way.append(chunk.ends_epoch)
            while len(self._under_way) >= self._bounds.in_flight or (chunk.ends_epoch and self._is_busy):
                self._receive()
        while self._is_busy:
            self._receive()

    @property
    def _is_busy(self) -> bool:
        return bool(self._under_way) or self._awaits_epoch

    def _receive(self) -> None:
        frame = self.link.receive()
        if frame.kind == ToOperator.OUTPUT and self._under_way:
            batch = frame.batch(OUTPUT_PART, self._schemas)
            assert batch is not None
            batch.validate(full=True)
            self._result.output.append(batch)
        elif frame.kind == ToOperator.DONE and self._under_way:
            self._held = frame.meta["held"]
            self._awaits_epoch = self._under_way.popleft()
        elif frame.kind == ToOperator.CHANGES and self._awaits_epoch:
            self._changes.append(frame)
        elif frame.kind == ToOperator.EPOCH_DONE and self._awaits_epoch:
            self._apply()
        elif frame.kind == ToOperator.FETCH and self._is_busy:
            answer = self.answer(frame)
            if answer is not None:
                self.link.send(answer)
        else:
            raise InternalError(f"a frame of kind {frame.kind} out of order.", "report it.")

    def answer(self, frame: Frame) -> Frame | None:
        """FETCHED; None for a scan that is given up. The store is as it was when the epoch began."""
        meta = frame.meta
        request = meta["request"]
        if meta.get("close"):
            self._scans.pop(request, None)
            return None
        index, slot = meta["state"], meta["slot"]
        state, key = self._states[index], self._keys[meta["slot"]]
        if meta["what"] == "entries":
            batch = frame.batch(STATE_PART + index, self._schemas)
            assert batch is not None
            wanted = decoder(batch.schema.field("k").type, as_key=True)(batch.column("k"))
            stored = state.get(key) or {}
            found = [(each, stored[each]) for each in wanted if each in stored]
            return Frame(ToWorker.FETCHED, {"request": request, "more": False}, dict(state.page(slot, found)))
        if not meta.get("next"):
            self._scans[request] = _pages(state.all_of(key), self._bounds.page_rows)
        page = next(self._scans[request], [])
        more = len(page) == self._bounds.page_rows
        if not more:
            del self._scans[request]
        return Frame(ToWorker.FETCHED, {"request": request, "more": more}, dict(state.page(slot, page)))

    def _apply(self) -> None:
        seen: set[Any] = set()
        for frame in self._changes:
            for part in frame.parts:
                batch = frame.batch(part, self._schemas)
                assert batch is not None
                batch.validate(full=True)
                self._check_once(part, batch, seen)
                if part == TIMER_CHANGES_PART:
                    self._apply_timers(batch)
                else:
                    self._states[part - CHANGES_PART].apply(batch, self._keys)
        if self._scans:
            raise InternalError(f"{len(self._scans)} scans are open after the epoch.", "report it.")
        self._changes.clear()
        self._keys.clear()
        self._held = 0
        self._awaits_epoch = False

    def _check_once(self, part: int, batch: pa.RecordBatch, seen: set[Any]) -> None:
        """One put per changed key and state: a slot of a value, an entry of a map, a timer comes once."""
        names = batch.schema.names
        if "k" not in names and "op" in names and part != TIMER_CHANGES_PART:
            return
        identity = [name for name in ("slot", "k", "time", "domain") if name in names]
        for row in batch.select(identity).to_pylist():
            change = (part, repr(row))
            if change in seen:
                raise InternalError(f"a second change of {row} in part {part}.", "report it.")
            seen.add(change)

    def _apply_timers(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            timer = (row["time"], row["domain"], self._keys[row["slot"]])
            if row["op"] == 0:
                self._store.put(TIMERS, timer, True)
            else:
                self._store.delete(TIMERS, timer)

    def end(self) -> BatchResult:
        self.link.send(Frame(ToWorker.END, {}, {}))
        frame = self.link.receive()
        if frame.kind != ToOperator.FINISHED:
            raise InternalError(f"a frame of kind {frame.kind} where FINISHED belongs.", "report it.")
        self._result.metrics = frame.meta["metrics"]
        return self._result


def _pages(entries: list[tuple[Any, Any]], size: int) -> Iterator[list[tuple[Any, Any]]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
