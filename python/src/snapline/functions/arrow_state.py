"""State as columns: what ``process_arrow`` works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from snapline.errors import InvalidConfiguration
from snapline.functions.context import EVENT, PROCESSING, no_event_time
from snapline.functions.zoned import aware, converted
from snapline.state.cursor import BEFORE_ALL, BatchTime

if TYPE_CHECKING:
    from snapline.functions.output_tag import OutputTag


class ArrowSink(Protocol):
    """Takes what the function does beyond state."""

    def register_timers(self, slots: Any, times: pa.Array, domain: int, operation: int) -> None: ...

    def emit_table(self, tag: OutputTag, value: Any) -> None: ...


@dataclass
class StateColumn:
    """One state of a chunk.

    Attributes:
        values: the values as they were sent, null for one that does not exist or has expired.
        slots: the key of each value, by its number.
        keys: the keys of entries in the map.
        rows: the entry of each row.
        updates: the new values and which of them are changed, if any are.
        is_read: whether the function has seen the values.
    """

    values: pa.Array
    slots: npt.NDArray[np.int32]
    keys: pa.Array | None = None
    rows: npt.NDArray[np.int32] | None = None
    updates: tuple[pa.Array, npt.NDArray[np.bool_]] | None = field(default=None)
    is_read: bool = False


class ArrowState:
    """The state of the keys of one chunk of rows.

    Attributes:
        keys: the distinct keys, as a record batch of the key's columns.
        key_index: for each row the number of its key.
    """

    def __init__(
        self,
        keys: pa.RecordBatch,
        key_index: npt.NDArray[np.int32],
        columns: dict[str, StateColumn],
        time: BatchTime,
        sink: ArrowSink,
    ) -> None:
        self.keys = keys
        self.key_index = key_index
        self._columns = columns
        self._time = time
        self._sink = sink

    def value(self, name: str) -> pa.Array:
        """A value state: one value per key, null where there is none. Values that :meth:`update` has set are seen."""
        return self._seen(self._column(name, is_entries=False))

    def update(self, name: str, values: Any, *, changed: Any = None) -> None:
        """Sets a value state: one value per key; null deletes. Naive time stamps are in the session's time zone.

        Args:
            name: the state's name.
            values: an array as long as ``keys``.
            changed: which of the keys are written; without it all are.
        """
        self._update(name, self._column(name, is_entries=False), values, changed)

    def entries(self, name: str) -> pa.Array:
        """The entries of a map state that the rows name, one per pair of key and entry; null where there is none."""
        return self._seen(self._column(name, is_entries=True))

    def entry_index(self, name: str) -> npt.NDArray[np.int32]:
        """For each row the number of its entry. Rows whose entry column is null have one that is never stored."""
        rows = self._column(name, is_entries=True).rows
        assert rows is not None
        return rows

    def entry_keys(self, name: str) -> pa.Array:
        """For each entry its key in the map."""
        return self._column(name, is_entries=True).keys

    def entry_key_index(self, name: str) -> npt.NDArray[np.int32]:
        """For each entry the number of the key it belongs to."""
        return self._column(name, is_entries=True).slots

    def update_entries(self, name: str, values: Any, *, changed: Any = None) -> None:
        """Sets the entries that the rows name: one value per entry; null removes.

        Naive time stamps are in the session's time zone.
        """
        self._update(name, self._column(name, is_entries=True), values, changed)

    def register_event_time_timers(self, times: Any, *, key_index: Any = None) -> None:
        """Registers timers: time stamps, or ms, one per key (null: none) or one for each of ``key_index``.

        Raises:
            InvalidConfiguration: the stream has no watermark, so that they would never fire.
        """
        if self._time.watermark is None:
            raise no_event_time()
        self._timers(times, key_index, EVENT, 0)

    def register_processing_time_timers(self, times: Any, *, key_index: Any = None) -> None:
        """As for event time."""
        self._timers(times, key_index, PROCESSING, 0)

    def delete_event_time_timers(self, times: Any, *, key_index: Any = None) -> None:
        """Takes timers back."""
        self._timers(times, key_index, EVENT, 1)

    def delete_processing_time_timers(self, times: Any, *, key_index: Any = None) -> None:
        """As for event time."""
        self._timers(times, key_index, PROCESSING, 1)

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emits a record batch, table or data frame to a side output."""
        self._sink.emit_table(tag, value)

    def current_processing_time(self) -> int:
        """The time of the micro-batch in ms."""
        return self._time.processing

    def current_watermark(self) -> int:
        """The watermark in ms; without one the least number of 64 bits."""
        return BEFORE_ALL if self._time.watermark is None else self._time.watermark

    def _column(self, name: str, *, is_entries: bool) -> StateColumn:
        column = self._columns.get(name)
        if column is None or (column.keys is not None) != is_entries:
            wanted = "map state with an entry column" if is_entries else "value state"
            raise InvalidConfiguration(
                f"{name} is no {wanted} of the function.", f"the states as columns: {', '.join(self._columns)}."
            )
        return column

    def _seen(self, column: StateColumn) -> pa.Array:
        column.is_read = True
        if column.updates is None:
            return column.values
        values, changed = column.updates
        return values if changed.all() else pc.if_else(pa.array(changed), values, column.values)

    def _update(self, name: str, column: StateColumn, values: Any, changed: Any) -> None:
        array = _array(values, column.values.type, f"state {name}")
        if len(array) != len(column.slots):
            raise InvalidConfiguration(
                f"{len(array)} values for the {len(column.slots)} of state {name}.", "give as many as there are."
            )
        mask = np.ones(len(array), bool) if changed is None else _mask(changed, len(array))
        if column.updates is not None:
            before, already = column.updates
            array = array if changed is None else pc.if_else(pa.array(mask), array, before)
            mask = mask | already
        column.updates = array, mask

    def _timers(self, times: Any, key_index: Any, domain: int, operation: int) -> None:
        array = times.combine_chunks() if isinstance(times, pa.ChunkedArray) else times
        array = array if isinstance(array, pa.Array) else pa.array(array)
        slots = np.arange(len(self.keys), dtype=np.int32) if key_index is None else np.asarray(key_index, np.int32)
        if len(slots) != len(array):
            raise InvalidConfiguration(
                f"{len(array)} times for {len(slots)} timers.", "give one per key, or as many as in key_index."
            )
        self._sink.register_timers(slots, array, domain, operation)


def _array(values: Any, kind: pa.DataType, what: str) -> pa.Array:
    try:
        if isinstance(values, (list, tuple)) and pa.types.is_timestamp(kind) and kind.tz is not None:
            values = aware(values, kind.tz)
        array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        return converted(array, kind)
    except pa.ArrowException as e:
        raise InvalidConfiguration(
            f"{what} is of type {kind}, and was given what is not ({e}).", "give an array of that type."
        ) from e


def _mask(changed: Any, length: int) -> npt.NDArray[np.bool_]:
    if isinstance(changed, (pa.Array, pa.ChunkedArray)):
        changed = changed.fill_null(False).to_numpy(zero_copy_only=False)
    mask = np.asarray(changed)
    if mask.dtype != np.bool_ or len(mask) != length:
        raise InvalidConfiguration(f"changed has {len(mask)} of {mask.dtype}.", f"give {length} booleans.")
    return mask
