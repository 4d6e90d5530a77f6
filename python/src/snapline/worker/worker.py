"""One task: answers the operator's frames."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import pyarrow as pa

from snapline.errors import UnsupportedVersion
from snapline.functions.broadcast import BroadcastContext
from snapline.functions.context import TimerService, TimerSink
from snapline.functions.ending_timers import EndingTimers
from snapline.functions.process import Mode
from snapline.functions.time import zone_of
from snapline.functions.timer_list import TIMER_LIST
from snapline.functions.unkeyed import NoTimers
from snapline.state.cursor import BEFORE_ALL, BatchTime, Cursor
from snapline.state.handles import make_handle
from snapline.worker.arrow import ArrowLoop
from snapline.worker.async_element import AsyncElementLoop
from snapline.worker.batch import BatchLoop
from snapline.worker.broadcast import BroadcastLoop
from snapline.worker.calls import failed
from snapline.worker.chunk import ChunkLoop
from snapline.worker.context import TaskContext
from snapline.worker.contexts import make_context
from snapline.worker.element import ElementLoop, TimerLoop
from snapline.worker.frames import (
    KEYS_PART,
    OUTPUT_PART,
    PROTOCOL,
    TIMER_CHANGES_PART,
    TIMERS_PART,
    Frame,
    ToOperator,
    ToWorker,
    Transport,
    message_of,
    unexpected,
)
from snapline.worker.job import Job
from snapline.worker.key_rows import KeyRowsLoop
from snapline.worker.keyed_states import AllKeyedStates
from snapline.worker.keys import SlotKeys
from snapline.worker.listed_timers import ListedTimers
from snapline.worker.loops import Parts, RowLoop
from snapline.worker.operator_states import OperatorStates
from snapline.worker.outputs import Outputs
from snapline.worker.pieces import pieces
from snapline.worker.remote_state import RemoteState
from snapline.worker.time_limit import TimeLimit
from snapline.worker.timers import Timer, Timers

#: Bytes of a timer in memory: a tuple and its place in a dict.
_TIMER_WEIGHT = 200
_LOOPS: dict[Mode, Callable[[Parts], RowLoop]] = {
    "element": ElementLoop,
    "batch": BatchLoop,
    "arrow": ArrowLoop,
}
_UNKEYED_LOOPS: dict[Mode, Callable[[Parts], RowLoop]] = {"element": ElementLoop, "batch": ChunkLoop}


def _make_loop(parts: Parts) -> RowLoop:
    plan = parts.job.plan
    if plan.is_async:
        return AsyncElementLoop(parts)
    if plan.mode == "batch" and plan.batch_type == "rows":
        return KeyRowsLoop(parts)
    return (_LOOPS if plan.kind.is_keyed else _UNKEYED_LOOPS)[plan.mode](parts)


class Worker:
    """Handles the frames of one task in their order; owns the function, which it opens and closes."""

    def __init__(self, job: Job, transport: Transport) -> None:
        self._job = job
        self._transport = transport
        self._task: _Task | None = None

    def handle(self, frame: Frame) -> bool:
        """Answers a frame; whether more are to come."""
        if frame.kind == ToWorker.SETUP and self._task is None:
            self._task = _Task(self._job, self._transport, frame)
            return True
        if self._task is None:
            if frame.kind == ToWorker.END:
                return False
            raise unexpected(frame, "before SETUP")
        handle = _HANDLERS.get(frame.kind)
        if handle is not None:
            handle(self._task, frame)
            return True
        if frame.kind == ToWorker.END:
            task, self._task = self._task, None
            task.end()
            # Another micro-batch of the same task follows, with a SETUP of its own.
            return bool(frame.meta.get("more"))
        raise unexpected(frame, "where a chunk or the end belongs")

    def abandon(self) -> None:
        """Closes the function after a failure, whose error is the one to tell."""
        if self._task is not None:
            with suppress(Exception):
                self._task.close()


class _Task:
    """The objects between SETUP and END."""

    def __init__(self, job: Job, transport: Transport, setup: Frame) -> None:
        meta = setup.meta
        if meta["protocol"] != PROTOCOL:
            raise UnsupportedVersion(
                f"protocol {meta['protocol']} of the jar; the package's is {PROTOCOL}.",
                "let package and jar be of one version.",
            )
        # Before the function is made and opened, which takes of the time.
        limit = None if meta["time_left_ms"] is None else TimeLimit(meta["time_left_ms"])
        schemas = {part: pa.ipc.read_schema(message) for part, message in setup.parts.items()}
        self._schemas = schemas
        self._transport = transport
        self._name = job.plan.name
        self._cursor = cursor = Cursor()
        time = BatchTime(meta["batch_time_ms"], meta["watermark_ms"], not meta["streaming"], meta["rows_watermark_ms"])
        self._time = time
        self._partition, self._partitions, self._batch = meta["partition"], meta["partitions"], meta["batch_id"]
        query, running = meta["query_id"], meta["running_batch_id"]
        # Rows that waited are numbered from 0 in each micro-batch that works them off.
        of = str(self._batch) if running == self._batch else f"{self._batch}@{running}"
        self._batch_key = "" if query is None else f"{query}/{of}/{self._partition}"
        requests = count()
        self._states = [
            RemoteState(i, spec, schemas, transport, requests, meta["chunk_bytes"])
            for i, spec in enumerate(job.plan.states)
        ]
        self._chunk_bytes = meta["chunk_bytes"]
        self._zone = zone = zone_of(meta["time_zone"])
        self._operator = OperatorStates(job.plan.operator_states, schemas, zone)
        self._keys = SlotKeys(schemas[KEYS_PART])
        self._timers = Timers()
        self._outputs = Outputs(
            schemas[OUTPUT_PART], len(job.columns), job.side_outputs, transport, meta["chunk_bytes"]
        )
        kind = job.plan.kind
        self._listed: ListedTimers | None = None
        if job.plan.lists_timers:
            listed = self._states[-1]
            handle = make_handle(TIMER_LIST, listed.spec, listed.cache, cursor, time, zone)
            self._listed = ListedTimers(self._timers, handle, cursor)
        self.function: Any = pickle.loads(job.plan.pickle)
        timers: TimerSink = (self._listed or self._timers) if kind.is_keyed else NoTimers()
        self._ending: EndingTimers | None = None
        if time.is_bounded and kind.is_keyed and not self.function._ends_its_timers:
            timers = self._ending = EndingTimers(timers, self._name)
        service = TimerService(timers, cursor, time, zone)
        context = make_context(kind, cursor, self._keys, self._outputs, service, self._operator.broadcast)
        self._open = TaskContext(
            {state.spec.name: state for state in self._states},
            cursor,
            time,
            zone,
            self._partition,
            self._partitions,
            self._batch_key,
        )
        if not job.plan.operator_states:
            self._open_function()
        parts = Parts(
            job=job,
            function=self.function,
            context=context,
            cursor=cursor,
            keys=self._keys,
            states=self._states,
            timers=self._timers,
            outputs=self._outputs,
            schemas=schemas,
            time=time,
            zone=meta["time_zone"],
            limit=limit,
            chunk_bytes=meta["chunk_bytes"],
            batch_key=self._batch_key,
        )
        self._timer_loop = TimerLoop(parts)
        self._loop = _make_loop(parts)
        self._broadcast_loop = self._make_broadcast_loop(parts, service, requests) if kind.has_broadcast else None

    def _make_broadcast_loop(self, parts: Parts, service: TimerService, requests: Iterator[int]) -> BroadcastLoop:
        keyed = AllKeyedStates(
            self._states,
            self._keys,
            parts.cursor,
            self._time,
            self._zone,
            schemas=self._schemas,
            transport=self._transport,
            requests=requests,
        )
        states = self._operator.broadcast
        context = BroadcastContext(self._outputs, service, states, keyed if parts.job.plan.kind.is_keyed else None)
        return BroadcastLoop(parts, context)

    def _open_function(self) -> None:
        try:
            self.function.open(self._open)
        except Exception as e:
            raise failed(e, "open", self._name) from e
        self._open.end_of_open()

    def states(self, frame: Frame) -> None:
        self._operator.load(frame)
        if not frame.meta["more"]:
            restored = frame.meta["restored"]
            self._operator.initialize(self.function, self._name, restored, self._partition, self._partitions)
            self._open_function()
        self._transport.send(ToOperator.DONE, {"held": 0, "left": 0}, [])

    def broadcast(self, frame: Frame) -> None:
        assert self._broadcast_loop is not None
        self._broadcast_loop.run(frame)
        self._done(frame.meta["end_of_epoch"])

    def rows(self, frame: Frame) -> None:
        self._time.move_to(frame.meta.get("now_ms"))
        ends = frame.meta["end_of_epoch"]
        if self._loop.uses_caches:
            self._begin(frame)
        left = self._loop.run(frame)
        if ends:
            self._loop.finish()
        self._done(ends, left)

    def timers(self, frame: Frame) -> None:
        self._time.move_to(frame.meta.get("now_ms"))
        if self._ending is not None:
            self._ending.end()
        meta = frame.meta
        self._begin(frame)
        batch = frame.batch(TIMERS_PART, self._schemas)
        chunk: Sequence[Timer] = []
        if batch is not None:
            slots, times, domains = (batch.column(name).to_pylist() for name in ("slot", "time", "domain"))
            chunk = sorted(zip(times, domains, slots, strict=True))
        due = tuple(BEFORE_ALL if meta[name] is None else meta[name] for name in ("due_event_ms", "due_processing_ms"))
        fired = self._timers.fire(chunk, meta["through"], (due[0], due[1]))
        self._timer_loop.run(fired if self._listed is None else self._listed.fired(fired))
        self._done(meta["end_of_epoch"])

    def _begin(self, frame: Frame) -> None:
        keys = frame.batch(KEYS_PART, self._schemas)
        size = 0
        if keys is not None:
            self._keys.load(keys)
            size = keys.num_rows
        for state in self._states:
            state.load(frame, size)

    def _done(self, ends_epoch: bool, left: int = 0) -> None:
        self._outputs.flush()
        held = sum(state.cache.held() for state in self._states) + _TIMER_WEIGHT * len(self._timers)
        self._transport.send(ToOperator.DONE, {"held": held, "left": left}, [])
        if ends_epoch:
            self._flush()
            self._transport.send(ToOperator.EPOCH_DONE, {}, [])

    def _flush(self) -> None:
        for part in self._loop.changes():
            self._transport.send(ToOperator.CHANGES, {}, [part])
        for state in self._states:
            for part in state.flush():
                self._transport.send(ToOperator.CHANGES, {}, [part])
        timers = self._timers.changes(self._schemas[TIMER_CHANGES_PART])
        if timers is not None:
            for batch in pieces(timers, self._chunk_bytes, "a timer"):
                self._transport.send(ToOperator.CHANGES, {}, [(TIMER_CHANGES_PART, message_of(batch))])
        self._timers.reset()
        self._keys.reset()

    def close(self) -> None:
        self._loop.close()

    def end(self) -> None:
        self._operator.snapshot(self.function, self._name, self._batch, self._time.processing)
        for part in self._operator.changes():
            self._transport.send(ToOperator.CHANGES, {}, [part])
        try:
            metrics = self._open.metrics.values()
            self.close()
        except Exception as e:
            raise failed(e, "close or a gauge", self._name) from e
        self._transport.send(ToOperator.FINISHED, {"metrics": metrics}, [])


_HANDLERS: dict[int, Callable[[_Task, Frame], None]] = {
    ToWorker.STATES: _Task.states,
    ToWorker.BROADCAST: _Task.broadcast,
    ToWorker.ROWS: _Task.rows,
    ToWorker.TIMERS: _Task.timers,
}
