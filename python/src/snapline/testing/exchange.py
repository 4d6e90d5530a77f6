"""The frames of one task, from the operator's side."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from snapline.errors import InternalError
from snapline.testing.bounds import Bounds
from snapline.testing.chunks import Chunk, keys_part
from snapline.testing.links import Link
from snapline.testing.operator_states import StoredOperatorStates
from snapline.testing.states import StoredState
from snapline.testing.store import Store
from snapline.worker.decode import decoder
from snapline.worker.frames import (
    CHANGES_PART,
    OPERATOR_CHANGES_PART,
    OUTPUT_PART,
    STATE_PART,
    TIMER_CHANGES_PART,
    Frame,
    ToOperator,
    ToWorker,
)

#: The family of timers in the store.
TIMERS = "$timers"


@dataclass
class BatchResult:
    """The results of one micro-batch."""

    output: list[pa.RecordBatch] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)


class Exchange:
    """The frames of one task: at most so many chunks under way, and nothing read past an epoch that is not applied."""

    link: Link

    def __init__(
        self,
        schemas: dict[int, pa.Schema],
        states: Sequence[StoredState],
        store: Store,
        bounds: Bounds,
        operator_states: StoredOperatorStates,
    ) -> None:
        self._operator_states = operator_states
        # The rest of a scan over all keys; None: there is no scan.
        self._keys_left: list[Any] | None = None
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
        """Bytes that the worker holds, as it said last."""
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
        self._take(self.link.receive())

    def _take(self, frame: Frame) -> None:
        if frame.kind == ToOperator.OUTPUT and self._under_way:
            batch = frame.batch(OUTPUT_PART, self._schemas)
            assert batch is not None
            batch.validate(full=True)
            self._result.output.append(batch)
        elif frame.kind == ToOperator.DONE and self._under_way:
            self._held = frame.meta["held"]
            self._awaits_epoch = self._under_way.popleft()
        elif frame.kind == ToOperator.CHANGES and self._keys_left is not None:
            self._apply_parts(frame, set())
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
        """FETCHED; None for a scan that the worker closes. The store is as it was when the epoch began."""
        meta = frame.meta
        request = meta["request"]
        if meta["what"] == "keys":
            return self._answer_keys(frame)
        if meta.get("close"):
            self._scans.pop(request, None)
            return None
        index, slot = meta["state"], meta["slot"]
        state, key = self._states[index], self._keys[meta["slot"]]
        if meta["what"] == "entries":
            batch = frame.batch(STATE_PART + index, self._schemas)
            assert batch is not None
            wanted = decoder(batch.schema.field("k").type, as_key=True)(batch.column("k"))
            found = state.named(key, wanted)
            return Frame(ToWorker.FETCHED, {"request": request, "answered": len(wanted)}, dict(state.page(slot, found)))
        if not meta.get("next"):
            self._scans[request] = _pages(state.all_of(key), self._bounds.page_rows)
        page = next(self._scans[request], [])
        more = len(page) == self._bounds.page_rows
        if not more:
            del self._scans[request]
        return Frame(ToWorker.FETCHED, {"request": request, "more": more}, dict(state.page(slot, page)))

    def _answer_keys(self, frame: Frame) -> Frame | None:
        """A page of all keys that have a state; what was changed of the page before is applied first."""
        for earlier in self.link.overtaken():
            self._take(earlier)
        meta = frame.meta
        self._keys.clear()
        if meta.get("close"):
            self._keys_left = None
            return None
        state = self._states[meta["state"]]
        if not meta.get("next"):
            self._keys_left = [key for key, _ in self._store.items(state.spec.name)]
        assert self._keys_left is not None
        size = self._bounds.chunk_rows
        page, self._keys_left = self._keys_left[:size], self._keys_left[size:]
        self._keys.extend(page)
        parts = [keys_part(self._schemas, page), *state.read_ahead(0, page)] if page else []
        answer = {"request": meta["request"], "more": bool(self._keys_left)}
        return Frame(ToWorker.FETCHED, answer, dict(parts))

    def _apply_parts(self, frame: Frame, seen: set[Any]) -> None:
        for part in frame.parts:
            batch = frame.batch(part, self._schemas)
            assert batch is not None
            batch.validate(full=True)
            if part >= OPERATOR_CHANGES_PART:
                self._operator_states.apply(part, batch)
                continue
            self._check_once(part, batch, seen)
            if part == TIMER_CHANGES_PART:
                self._apply_timers(batch)
            else:
                self._states[part - CHANGES_PART].apply(batch, self._keys)

    def _apply(self) -> None:
        seen: set[Any] = set()
        for frame in self._changes:
            self._apply_parts(frame, seen)
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

    def take_output(self) -> list[pa.RecordBatch]:
        """The output so far; it is not in the result then."""
        taken, self._result.output = self._result.output, []
        return taken

    def end(self) -> BatchResult:
        self.link.send(Frame(ToWorker.END, {}, {}))
        frame = self.link.receive()
        while frame.kind == ToOperator.CHANGES:
            self._apply_parts(frame, set())
            frame = self.link.receive()
        if frame.kind != ToOperator.FINISHED:
            raise InternalError(f"a frame of kind {frame.kind} where FINISHED belongs.", "report it.")
        self._result.metrics = frame.meta["metrics"]
        return self._result


def _pages(entries: list[tuple[Any, Any]], size: int) -> Iterator[list[tuple[Any, Any]]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]
