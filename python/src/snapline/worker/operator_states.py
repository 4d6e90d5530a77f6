"""The operator states of a task on the wire, and the methods of a CheckpointedFunction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from snapline.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    OperatorStateStore,
    operator_handle,
)
from snapline.state.broadcast import BroadcastState
from snapline.state.operator_spec import RAW_STATE, OperatorStateSpec
from snapline.worker.calls import failed
from snapline.worker.decode import decoder
from snapline.worker.encode import ColumnEncoder
from snapline.worker.frames import OPERATOR_CHANGES_PART, OPERATOR_PART, Frame, message_of
from snapline.worker.pickles import kept_pickles, pickle_all
from snapline.worker.pieces import pieces

#: Changes of one state in one frame, in rows and in bytes.
_MAX_ROWS = 10_000
_MAX_BYTES = 16 << 20


class OperatorStates:
    """The operator states that the operator sent, as handles, and their changes at the end."""

    def __init__(self, specs: Sequence[OperatorStateSpec], schemas: dict[int, pa.Schema], zone: tzinfo | None) -> None:
        self._specs = tuple(specs)
        self._wires = [_Wire(i, spec, schemas) for i, spec in enumerate(specs)]
        self._handles = {spec.name: operator_handle(spec, zone) for spec in specs}
        self._schemas = schemas

    @property
    def broadcast(self) -> dict[str, BroadcastState[Any, Any]]:
        """The broadcast states by name."""
        return {name: state for name, state in self._handles.items() if isinstance(state, BroadcastState)}

    def load(self, frame: Frame) -> None:
        """Takes over what a frame has."""
        for wire in self._wires:
            batch = frame.batch(OPERATOR_PART + wire.index, self._schemas)
            if batch is not None:
                self._handles[wire.spec.name].load(*wire.decode(batch))

    def initialize(self, function: Any, name: str, is_restored: bool, partition: int, partitions: int) -> None:
        """Calls ``initialize_state``, if there is one."""
        if not isinstance(function, CheckpointedFunction):
            return
        store = OperatorStateStore(self._specs, self._handles)
        context = FunctionInitializationContext(store, is_restored, partition, partitions)
        context.take_raw(list(self._handles[RAW_STATE.name]))
        try:
            function.initialize_state(context)
        except Exception as e:
            raise failed(e, "initialize_state", name) from e

    def snapshot(self, function: Any, name: str, batch: int, time: int) -> None:
        """Calls ``snapshot_state``, if there is one."""
        if not isinstance(function, CheckpointedFunction):
            return
        context = FunctionSnapshotContext(batch, time)
        try:
            function.snapshot_state(context)
        except Exception as e:
            raise failed(e, "snapshot_state", name) from e
        context.raw.close()
        raw = self._handles[RAW_STATE.name]
        parts = context.raw.parts()
        assert not isinstance(raw, BroadcastState)
        if parts or len(raw):
            raw.update(parts)

    def changes(self) -> Iterator[tuple[int, pa.Buffer]]:
        """Parts with what has changed."""
        for wire in self._wires:
            changes = self._handles[wire.spec.name].changes()
            if changes is not None:
                for batch in wire.encode(changes.ops, changes.keys, changes.values):
                    yield OPERATOR_CHANGES_PART + wire.index, message_of(batch)


class _Wire:
    """One state's columns."""

    def __init__(self, index: int, spec: OperatorStateSpec, schemas: dict[int, pa.Schema]) -> None:
        self.index = index
        self.spec = spec
        self._schema = schemas[OPERATOR_CHANGES_PART + index]
        key, value = self._schema.field("k").type, self._schema.field("v").type
        self._decode_key = decoder(key, as_key=True)
        self._decode_value: Callable[[pa.Array], Any] = kept_pickles if spec.pickled else decoder(value)
        self._encode_key = ColumnEncoder(f"the key of state {spec.name}", key)
        self._encode_value: Callable[[Sequence[Any]], pa.Array] = (
            pickle_all if spec.pickled else ColumnEncoder(f"the value of state {spec.name}", value)
        )

    def decode(self, batch: pa.RecordBatch) -> tuple[Sequence[Any], Sequence[Any]]:
        return self._decode_key(batch.column("k")), self._decode_value(batch.column("v"))

    def encode(self, ops: Sequence[int], keys: Sequence[Any], values: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        columns = {
            "op": pa.array(ops, pa.int8()),
            "k": self._encode_key(keys),
            "v": self._encode_value(values),
        }
        whole = pa.record_batch([columns[name] for name in self._schema.names], schema=self._schema)
        for start in range(0, len(whole), _MAX_ROWS):
            yield from pieces(whole.slice(start, _MAX_ROWS), _MAX_BYTES, f"an entry of state {self.spec.name}")
