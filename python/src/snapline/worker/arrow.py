"""``process_arrow`` for each chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapline.functions.arrow_state import ArrowState, StateColumn
from snapline.functions.output_tag import OutputTag
from snapline.functions.time import zone_of
from snapline.functions.zoned import to_zoned
from snapline.state.cursor import BEFORE_ALL, NEVER, TtlClock
from snapline.state.spec import StateSpec
from snapline.state.ttl import StateTtlConfig, StateVisibility, TtlTime, UpdateType
from snapline.worker.calls import failed
from snapline.worker.frames import CHANGES_PART, KEYS_PART, ROWS_PART, STATE_PART, Frame, message_of
from snapline.worker.loops import Parts, RowLoop
from snapline.worker.outputs import Outputs
from snapline.worker.pieces import pieces
from snapline.worker.timers import Timers


class ArrowLoop(RowLoop):
    """Hands chunks over as they came; the state of a chunk goes back with its end, and nothing is kept."""

    uses_caches = False

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._rows = len(parts.job.input_columns)
        names = parts.schemas[ROWS_PART].names
        self._positions = {name: i for i, name in enumerate(names) if i >= self._rows}
        event_time = parts.job.event_time
        self._event_time = parts.job.input_columns.index(event_time) if event_time is not None else None
        self._columns: list[tuple[int, StateSpec, StateColumn, _Times | None]] = []

    def run(self, frame: Frame) -> int:
        parts = self._parts
        batch = frame.batch(ROWS_PART, parts.schemas)
        keys = frame.batch(KEYS_PART, parts.schemas)
        if batch is None or keys is None or not batch.num_rows:
            return 0
        rows = pa.RecordBatch.from_arrays(batch.columns[: self._rows], names=batch.schema.names[: self._rows])
        index = batch.column(self._positions["__slot"]).to_numpy()
        self._columns = list(self._state_columns(frame, batch, keys.num_rows, index))
        state = ArrowState(
            keys,
            index,
            {spec.name: column for _, spec, column, _ in self._columns},
            parts.time,
            _Sink(parts.timers, parts.outputs, parts.zone),
        )
        try:
            result = parts.function.process_arrow(rows, state)
            if result is not None:
                parts.outputs.extend(result)
        except Exception as e:
            raise failed(e, "process_arrow", parts.job.plan.name, rows=rows.num_rows, keys=keys.num_rows) from e
        return 0

    def _state_columns(
        self, frame: Frame, batch: pa.RecordBatch, keys: int, index: npt.NDArray[np.int32]
    ) -> Iterator[tuple[int, StateSpec, StateColumn, _Times | None]]:
        parts = self._parts  # the chunk is an epoch: its slots begin at 0
        for i, state in enumerate(parts.states):
            spec = state.spec
            found = frame.batch(STATE_PART + i, parts.schemas)
            if spec.kind == "value":
                values = found.column("v") if found is not None else pa.nulls(keys, _value_type(parts, i))
                column, of_row = StateColumn(values, np.arange(keys, dtype=np.int32)), index
            elif spec.entry is not None and found is not None:
                # An entry that exists and is null looks like one that does not exist: null removes it either way.
                of_row = batch.column(self._positions[f"__entry_{i}"]).to_numpy()
                slots = found.column("slot").to_numpy()
                column = StateColumn(found.column("v"), slots, found.column("k"), of_row)
            else:
                continue
            times = None
            if spec.ttl is not None:
                stored = found.column("x") if found is not None else pa.nulls(keys, pa.int64())
                times = _Times(spec.ttl, parts, stored, self._latest(spec.ttl, batch, of_row, len(stored)))
                column.values = times.visible(column.values)
            yield i, spec, column, times

    def _latest(
        self, ttl: StateTtlConfig, batch: pa.RecordBatch, of_row: npt.NDArray[np.int32], count: int
    ) -> npt.NDArray[np.int64]:
        """The time of each value in ms: that of its latest row. BEFORE_ALL: no row has one."""
        latest = np.full(count, BEFORE_ALL, np.int64)
        if ttl.time is TtlTime.EVENT_TIME and self._event_time is not None:
            times = batch.column(self._event_time)
            there = times.is_valid().to_numpy(zero_copy_only=False)
            micros = times.drop_null().cast(pa.int64()).to_numpy()
            np.maximum.at(latest, of_row[there], micros // 1000)
        return latest

    def changes(self) -> Iterator[tuple[int, pa.Buffer]]:
        for i, spec, column, times in self._columns:
            values, changed = column.updates or (column.values, np.zeros(len(column.values), bool))
            if times is not None and times.minds_reads and column.is_read:
                values, changed = times.after_reading(column.values, values, changed)
            if column.keys is not None and column.keys.null_count:
                # Rows whose entry column is null share an entry that no map can have.
                changed = changed & column.keys.is_valid().to_numpy(zero_copy_only=False)
            if not changed.any():
                continue
            schema = self._parts.schemas[CHANGES_PART + i]
            mask = pa.array(changed)
            values = values.filter(mask)
            arrays = {"slot": pa.array(column.slots).filter(mask), "v": values}
            if column.keys is not None:
                arrays["k"] = column.keys.filter(mask)
                arrays["op"] = values.is_null().cast(pa.int8())
            if times is not None:
                expiries, stored = times.expiries.filter(mask), times.stored.filter(mask)
                arrays["x"] = pc.if_else(values.is_valid(), expiries, pa.scalar(None, pa.int64()))
                arrays["c"] = pc.or_kleene(stored.is_null(), pc.greater(stored, expiries))
            columns = [arrays[field.name].cast(field.type) for field in schema]
            changes = pa.record_batch(columns, schema=schema)
            for batch in pieces(changes, self._parts.chunk_bytes, f"a change of state {spec.name}"):
                yield CHANGES_PART + i, message_of(batch)
        self._columns = []


def _value_type(parts: Parts, index: int) -> pa.DataType:
    return parts.schemas[STATE_PART + index].field("v").type


class _Times:
    """The time to live of one state in one chunk.

    Attributes:
        stored: the expiry of each value as it was sent; null for one that does not exist.
        expiries: those of values that are written now.
        minds_reads: whether reading a value may change it.
    """

    def __init__(self, ttl: StateTtlConfig, parts: Parts, stored: pa.Array, latest: npt.NDArray[np.int64]) -> None:
        clock = TtlClock(ttl, parts.time, parts.cursor)
        self.stored = stored
        self.expiries = pa.array(clock.expiries(latest))
        self._is_live = pc.greater(stored.fill_null(NEVER), pa.scalar(clock.now, pa.int64()))
        self._refreshes = ttl.update_type is UpdateType.ON_READ_AND_WRITE
        self._shows_expired = ttl.visibility is StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP
        self.minds_reads = self._refreshes or self._shows_expired

    def visible(self, values: pa.Array) -> pa.Array:
        """Values as the function sees them."""
        return values if self._shows_expired else self._live(values)

    def _live(self, values: pa.Array) -> pa.Array:
        return pc.if_else(self._is_live, values, pa.scalar(None, values.type))

    def after_reading(
        self, seen: pa.Array, values: pa.Array, changed: npt.NDArray[np.bool_]
    ) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
        """Values and those that are written. Reading removes what has expired, and may begin the others' time anew."""
        is_live = self._is_live.to_numpy(zero_copy_only=False)
        touched = seen.is_valid().to_numpy(zero_copy_only=False) & (~is_live | self._refreshes)
        return pc.if_else(pa.array(changed), values, self._live(seen)), changed | touched


class _Sink:
    """Timers and side outputs of a chunk."""

    def __init__(self, timers: Timers, outputs: Outputs, zone: str) -> None:
        self._timers = timers
        self._outputs = outputs
        self._zone = zone

    def register_timers(self, slots: Any, times: pa.Array, domain: int, operation: int) -> None:
        valid = times.is_valid().to_numpy(zero_copy_only=False)
        self._timers.change_all(slots[valid], self._millis(times.drop_null()), domain, operation)

    def _millis(self, times: pa.Array) -> Any:
        if not pa.types.is_timestamp(times.type):
            return times.cast(pa.int64()).to_numpy()
        if times.type.tz is None and zone_of(self._zone) is not None:
            times = to_zoned(times, self._zone)
        return times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64()).to_numpy() // 1000

    def emit_table(self, tag: OutputTag, value: Any) -> None:
        self._outputs.emit_table(tag, value)
