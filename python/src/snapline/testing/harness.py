"""Drives a keyed process function with rows, timers and watermarks: without Spark, and without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.kind import FunctionKind
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.functions.time import to_millis, zone_of
from snapline.functions.whole_batch import whole_batch_needs
from snapline.state.cursor import NEVER, BatchTime
from snapline.state.ddl import parse_schema
from snapline.state.row import Row, row_maker
from snapline.stream.broadcasting import BroadcastInput
from snapline.stream.columns import check_columns, check_same_keys
from snapline.stream.initial_state import OTHER_KEYS, plan_initial
from snapline.stream.keyed import KeyedStream
from snapline.stream.planning import plan_process
from snapline.testing.bounds import Bounds
from snapline.testing.broadcasting import in_order
from snapline.testing.collected import Collected, as_tuples
from snapline.testing.kept import Kept, Snapshot
from snapline.testing.links import InProcessLink, Link
from snapline.testing.live import LiveBatch
from snapline.testing.operator import Operator
from snapline.testing.store import DictStore, RocksStore, Store
from snapline.testing.streams import SchemaStream
from snapline.worker.frames import Frame
from snapline.worker.job import Job

Time = int | datetime


class KeyedTestHarness:
    """One partition of a keyed process; owns its store, which :meth:`close` gives back.

    Every micro-batch opens a fresh copy of the function, as Spark's tasks do, and goes through the same conversions,
    caches and loops: attributes of the function are gone with the micro-batch here too.

    Args:
        function: the function to test.
        key: the columns of the key.
        schema: the schema of the rows.
        output: the schema of what the function yields.
        event_time: the column that is the time of a row; rows at or before the watermark that the micro-batch before
            had are late and dropped.
        order_by: the columns by which the rows of a micro-batch are sorted before the function gets them.
        side_outputs: the tags that the function emits to.
        late_output: a side output for late rows.
        time_zone: the session's time zone.
        path: a folder for a RocksDB; without it the state is in memory.
        broadcast: the broadcast stream of a KeyedBroadcastProcessFunction: ``BroadcastInput.of(schema, descriptor)``.
        bounds: the bounds of chunks and epochs.
        link: the way to the worker; by default it runs in this process and thread.

    Raises:
        InvalidConfiguration: the function, its states or an argument cannot be.
    """

    def __init__(
        self,
        function: KeyedProcessFunction,
        *,
        key: str | Sequence[str],
        schema: str | StructType,
        output: str | StructType,
        event_time: str | None = None,
        order_by: Sequence[str] = (),
        side_outputs: Sequence[OutputTag] = (),
        late_output: str | None = None,
        time_zone: str = "UTC",
        path: str | Path | None = None,
        broadcast: BroadcastInput | None = None,
        bounds: Bounds | None = None,
        link: Callable[[Job, Callable[[Frame], Frame | None]], Link] = InProcessLink,
    ) -> None:
        rows = parse_schema(schema, "the schema of the rows")
        keys = [key] if isinstance(key, str) else list(key)
        kind = FunctionKind.KEYED if broadcast is None else FunctionKind.KEYED_BROADCAST
        planned = plan_process(
            rows,
            keys,
            function,
            output,
            side_outputs=side_outputs,
            late_output=late_output,
            event_time=event_time,
            kind=kind,
            broadcast=broadcast,
        )
        self._broadcast = broadcast
        self._function, self._output, self._tags = function, output, side_outputs
        self._job = planned.job
        self._rows = rows
        self._order = [rows.names.index(name) for name in check_columns(rows, order_by, "order_by")]
        self._late_output = late_output
        self._zone = zone_of(time_zone)
        self._time_zone = time_zone
        self._bounds = bounds or Bounds()
        self._link = link
        self._store: Store = DictStore() if path is None else RocksStore(Path(path))
        self._operator = Operator(
            self._job,
            rows,
            planned.result,
            self._store,
            time_zone,
            self._bounds,
            broadcast=None if broadcast is None else broadcast.schema,
        )
        self._kept = Kept(self._job, self._operator, self._store)
        first = None if planned.job.event_time is None else 0
        self._time = BatchTime(0, first, before_rows=first)
        self._collected = Collected(planned)
        #: The values of counters and gauges, added up over all micro-batches.
        self.metrics = self._collected.metrics
        #: Late rows so far.
        self.late_rows = 0

    @classmethod
    def of_stream(
        cls,
        build: Callable[[KeyedStream], Any],
        *,
        key: str | Sequence[str],
        schema: str | StructType,
        event_time: str | None = None,
        **more: Any,
    ) -> KeyedTestHarness:
        """A harness of what a keyed stream is made into.

        Args:
            build: as ``lambda stream: stream.window(...).reduce(...)``.
            key: the columns of the key.
            schema: the schema of the rows.
            event_time: the column that is the time of a row.
            more: ``time_zone``, ``path``, ``bounds`` and ``link`` as of the constructor.
        """
        rows = parse_schema(schema, "the schema of the rows")
        made: Any = build(SchemaStream(rows, [key] if isinstance(key, str) else list(key), event_time))
        return cls(**made, key=key, schema=rows, event_time=event_time, **more)

    def process_batch(self, rows: Sequence[Any], broadcast: Sequence[Any] = ()) -> list[Row]:
        """One micro-batch: broadcast rows, rows (tuples, dicts or Rows), then due timers; what it put out."""
        rules: list[Any] = []
        if self._broadcast is not None:
            rules = in_order(as_tuples(broadcast, self._broadcast.schema.names), self._broadcast)
        return self._run(self._in_time(as_tuples(rows, self._rows.names)), rules)

    def live(self) -> LiveBatch:
        """One micro-batch of Spark's real-time mode, for a ``with`` statement: rows go through while it lasts.

        Raises:
            InvalidConfiguration: the function needs a whole micro-batch.
        """
        plan = self._job.plan
        needs = whole_batch_needs(
            plan.name,
            has_order=bool(self._order),
            is_grouped=plan.mode == "batch",
            has_operator_state=bool(plan.operator_states),
            has_broadcast=self._broadcast is not None,
        )
        if found := "; ".join(needs):
            raise InvalidConfiguration(
                f"real-time mode does not fit this function: {found}.", "give it whole micro-batches: process_batch."
            )
        batch = self._operator.begin(self._time, lambda answer: self._link(self._job, answer), is_live=True)
        return LiveBatch(
            batch,
            self._collected,
            lambda rows: self._in_time(as_tuples(rows, self._rows.names)),
            self._tick,
            self._end_batch,
        )

    def process_initial_state(
        self, rows: Sequence[Any], *, schema: str | StructType, key: str | Sequence[str] | None = None
    ) -> None:
        """The rows of an initial state, before the first micro-batch.

        Args:
            rows: tuples, dicts or Rows.
            schema: their schema.
            key: the columns of their key; None: they have the names of the other rows'.

        Raises:
            InvalidConfiguration: the function does not take such an initial state.
        """
        columns = parse_schema(schema, "the schema of the initial state")
        keys = list(self._job.key_names) if key is None else [key] if isinstance(key, str) else list(key)
        planned = plan_initial(columns, keys, self._function, self._output, self._tags, self._job)
        mine, theirs = [self._rows[name] for name in self._job.key_names], [columns[name] for name in keys]
        check_same_keys(mine, theirs, OTHER_KEYS)
        operator = Operator(planned.job, columns, planned.result, self._store, self._time_zone, self._bounds)
        result = operator.run_batch(
            as_tuples(rows, columns.names),
            self._time,
            lambda answer: self._link(planned.job, answer),
            fires_timers=False,
        )
        self._collected.add(result)

    def process(self, rows: Sequence[Any], *, batch_size: int | None = None) -> list[Row]:
        """Rows in one micro-batch, or cut into several."""
        size = batch_size or max(1, len(rows))
        return [row for start in range(0, len(rows), size) for row in self.process_batch(rows[start : start + size])]

    def advance_watermark(self, time: Time) -> list[Row]:
        """Sets the watermark and runs a micro-batch without rows: what is due fires."""
        self.set_times(watermark=time)
        return self._run([])

    def advance_processing_time(self, time: Time) -> list[Row]:
        """Sets the time of the micro-batches and runs one without rows: what is due fires."""
        self.set_times(processing=time)
        return self._run([])

    def set_times(self, *, watermark: Time | None = None, processing: Time | None = None) -> None:
        """Sets the times of the next micro-batch, and runs none. Times never go back.

        The watermark comes after the rows of that micro-batch: its timers fire by it, and the rows of the next one are
        late by it.
        """
        now, seen = self._time.processing, self._time.watermark
        if processing is not None:
            now = max(now, to_millis(processing, self._zone))
        if watermark is not None:
            if seen is None:
                raise InvalidConfiguration("a watermark without event_time.", "give the harness event_time.")
            seen = max(seen, to_millis(watermark, self._zone))
        self._time = replace(self._time, processing=now, watermark=seen)

    def process_bounded(self, rows: Sequence[Any]) -> list[Row]:
        """All rows as one bounded DataFrame: at its end every timer fires."""
        time = self._time
        self._time = BatchTime(time.processing, NEVER, True)
        try:
            return self._run(as_tuples(rows, self._rows.names))
        finally:
            self._time = time

    def output(self) -> list[Row]:
        """All rows of the result so far."""
        return list(self._collected.rows)

    def side_output(self, tag: OutputTag | str) -> list[Row]:
        """All rows of a side output so far."""
        return self._collected.side(tag)

    def state(self, name: str, key: Any = None) -> Any:
        """A state as it is stored: a value or accumulator, a list, a dict; None if there is nothing.

        An operator state has no key.

        With namespaces it is a dict by namespace, of a map state by (namespace, key).
        """
        return self._kept.state(name, key)

    def num_keys(self, name: str) -> int:
        """How many keys have this state."""
        return self._kept.num_keys(name)

    def num_timers(self, domain: Literal["event", "processing"] | None = None) -> int:
        """How many timers are registered."""
        return self._kept.num_timers(domain)

    def snapshot(self) -> Snapshot:
        """State, timers and times, for another harness of the same function or a later version of it."""
        return Snapshot(self._kept.families(), self._time.processing, self._time.watermark)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts back a snapshot; what there was is gone."""
        self._kept.put_back(snapshot.families)
        self._time = BatchTime(snapshot.processing, snapshot.watermark, before_rows=snapshot.watermark)

    def close(self) -> None:
        """Gives back the store."""
        self._store.close()

    def __enter__(self) -> KeyedTestHarness:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _in_time(self, rows: list[Any]) -> list[Any]:
        """Late rows never reach the function. They are late by the watermark that came before them, as in Spark."""
        watermark = self._time.before_rows
        if self._job.event_time is None or watermark is None or self._job.plan.takes_late_rows:
            return rows
        at = self._rows.names.index(self._job.event_time)
        times = [None if row[at] is None else to_millis(row[at], self._zone) for row in rows]
        late = [time is not None and time <= watermark for time in times]
        self.late_rows += sum(late)
        if self._late_output is not None:
            make = row_maker(self._rows.names)
            self._collected.sides[self._late_output] += [
                make(row) for row, is_late in zip(rows, late, strict=True) if is_late
            ]
        return [row for row, is_late in zip(rows, late, strict=True) if not is_late]

    def _run(self, rows: list[Any], broadcast: Sequence[Any] = ()) -> list[Row]:
        if self._order:
            rows = sorted(rows, key=lambda row: [(row[at] is not None, row[at]) for at in self._order])
        result = self._operator.run_batch(rows, self._time, lambda answer: self._link(self._job, answer), broadcast)
        self._end_batch()
        return self._collected.add(result)

    def _tick(self, time: Time) -> int:
        self.set_times(processing=time)
        return self._time.processing

    def _end_batch(self) -> None:
        self._time = replace(self._time, before_rows=self._time.watermark)
