"""``process_element`` for each row, and ``on_timer`` for each timer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from snapline.functions.context import EVENT
from snapline.worker.calls import failed
from snapline.worker.decode import row_decoder
from snapline.worker.frames import ROWS_PART, Frame
from snapline.worker.loops import Parts, RowLoop
from snapline.worker.timers import Timer

_T = TypeVar("_T")


class TimerLoop:
    """Calls ``on_timer``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def run(self, timers: Iterable[Timer]) -> None:
        parts = self._parts
        on_timer, context, cursor = parts.function.on_timer, parts.context, parts.cursor
        timer = None
        try:
            for timer in timers:
                time, domain, cursor.slot = timer
                cursor.timestamp = time
                context.domain = "event" if domain == EVENT else "processing"
                result = on_timer(time, context)
                if result is not None:
                    parts.outputs.extend(result)
        except Exception as e:
            where = {**context.place(), "timer": timer[0]} if timer else {}
            raise failed(e, "on_timer", parts.job.plan.name, **where) from e
        finally:
            context.domain = None


class ElementLoop(RowLoop):
    """Calls ``process_element``: nothing else happens for each row."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._function = parts.function
        self._context = parts.context
        self._cursor = parts.cursor
        self._outputs = parts.outputs
        self._name = parts.job.plan.name
        self._schemas = parts.schemas
        self._limit = parts.limit
        self._columns = len(parts.job.input_columns)
        self._decode = row_decoder(list(parts.schemas[ROWS_PART])[: self._columns])
        event_time = parts.job.event_time
        self._event_time = parts.job.input_columns.index(event_time) if event_time is not None else None

    def run(self, frame: Frame) -> int:
        batch = frame.batch(ROWS_PART, self._schemas)
        if batch is None:
            return 0
        limit = self._limit
        if limit is None:
            self._run_all(batch)
            return 0
        rows: int = batch.num_rows
        if limit.is_over:
            return rows
        before = limit.processed
        self._run_all(batch)
        return rows - (limit.processed - before)

    def _run_all(self, batch: pa.RecordBatch) -> None:
        rows = self._decode(batch)
        places = batch.column(self._columns).to_numpy().tolist()
        if self._event_time is None:
            self._run(self._in_time(zip(places, rows, strict=True)))
        else:
            times = event_times(batch.column(self._event_time))
            self._run_timed(self._in_time(zip(places, times, rows, strict=True)))

    def _in_time(self, rows: Iterable[_T]) -> Iterable[_T]:
        return rows if self._limit is None else self._limit.within(rows)

    def _run(self, rows: Iterable[tuple[int, Any]]) -> None:
        process, context, cursor, out = self._function.process_element, self._context, self._cursor, self._outputs.rows
        append, gauge = out.append, self._outputs.gauge
        exact, take = self._outputs.taker.exact, self._outputs.taker.take
        row = None
        try:
            for cursor.slot, row in rows:
                result = process(row, context)
                if result is not None:
                    for each in result:
                        append(each if type(each) is exact else take(each))
                        if len(out) >= gauge.limit and gauge.is_full(out):
                            self._outputs.flush_rows()
        except Exception as e:
            where = {**context.place(), "row": row} if row is not None else {}
            raise failed(e, "process_element", self._name, **where) from e

    def _run_timed(self, rows: Iterable[tuple[int, int | None, Any]]) -> None:
        process, context, cursor, out = self._function.process_element, self._context, self._cursor, self._outputs.rows
        append, gauge = out.append, self._outputs.gauge
        exact, take = self._outputs.taker.exact, self._outputs.taker.take
        row = None
        try:
            for cursor.slot, cursor.timestamp, row in rows:
                result = process(row, context)
                if result is not None:
                    for each in result:
                        append(each if type(each) is exact else take(each))
                        if len(out) >= gauge.limit and gauge.is_full(out):
                            self._outputs.flush_rows()
        except Exception as e:
            where = {**context.place(), "row": row} if row is not None else {}
            raise failed(e, "process_element", self._name, **where) from e


def latest_time(rows: pa.RecordBatch, column: int | None) -> int | None:
    """The time of a batch is that of its latest row; None: no column has it, or it has none."""
    if column is None:
        return None
    return max((time for time in event_times(rows.column(column)) if time is not None), default=None)


def event_times(column: pa.Array) -> list[int | None]:
    """Time stamps as milliseconds."""
    micros = column.cast(pa.int64())
    if not micros.null_count:
        return (micros.to_numpy() // 1000).tolist()  # type: ignore[no-any-return]
    times: list[int | None] = (micros.fill_null(0).to_numpy() // 1000).tolist()
    for i in np.flatnonzero(micros.is_null().to_numpy(zero_copy_only=False)).tolist():
        times[i] = None
    return times
