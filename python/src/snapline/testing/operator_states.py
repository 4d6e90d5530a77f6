"""The operator states of one partition in the store of the operator without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from snapline.state.operator_changes import CLEAR, PUT
from snapline.state.operator_spec import Distribution, OperatorStateSpec
from snapline.testing.chunks import Chunk
from snapline.testing.store import Store
from snapline.worker.decode import decoder
from snapline.worker.encode import encoder
from snapline.worker.frames import OPERATOR_CHANGES_PART, OPERATOR_PART, Frame, ToWorker, message_of

#: The family of the mark of a partition whose function has run.
MARK = "$operator"
_PREFIXES = {
    Distribution.SPLIT: "$operator_",
    Distribution.UNION: "$union_",
    Distribution.BROADCAST: "$broadcast_",
    Distribution.RAW: "",
}


def family_of(spec: OperatorStateSpec) -> str:
    return _PREFIXES[spec.distribution] + spec.name


class StoredOperatorStates:
    """Reads them whole for the worker, and applies what it changed."""

    def __init__(
        self, specs: Sequence[OperatorStateSpec], schemas: dict[int, pa.Schema], store: Store, limit: int
    ) -> None:
        self._specs = specs
        self._schemas = schemas
        self._store = store
        self._limit = limit

    @property
    def is_first(self) -> bool:
        """Whether the function has state, and has never run here."""
        return bool(self._specs) and not self._is_restored

    @property
    def _is_restored(self) -> bool:
        return self._store.get(MARK, "restored") is not None

    def mark(self) -> None:
        if self._specs:
            self._store.put(MARK, "restored", True)

    def entries(self, spec: OperatorStateSpec) -> list[tuple[Any, Any]]:
        """A list by position, a map in an order that depends on its keys alone."""
        found = list(self._store.items(family_of(spec)))
        return sorted(found, key=lambda entry: repr(entry[0]) if spec.key is not None else entry[0])

    def frames(self) -> Iterator[Chunk]:
        """The first frames; none for a function without operator state."""
        waiting = [(i, entry) for i, spec in enumerate(self._specs) for entry in self.entries(spec)]
        while self._specs:
            now, waiting = waiting[: self._limit], waiting[self._limit :]
            parts = {}
            for i in {i for i, _ in now}:
                schema = self._schemas[OPERATOR_PART + i]
                columns = zip(*(entry for at, entry in now if at == i), strict=True)
                arrays = [encoder(field.type)(list(column)) for field, column in zip(schema, columns, strict=True)]
                parts[OPERATOR_PART + i] = message_of(pa.record_batch(arrays, schema=schema))
            meta = {"more": bool(waiting), "restored": self._is_restored}
            yield Chunk(Frame(ToWorker.STATES, meta, parts), [], False)
            if not waiting:
                break

    def apply(self, part: int, batch: pa.RecordBatch) -> None:
        family = family_of(self._specs[part - OPERATOR_CHANGES_PART])
        columns = [
            decoder(field.type, as_key=field.name == "k")(batch.column(i)) for i, field in enumerate(batch.schema)
        ]
        for op, key, value in zip(*columns, strict=True):
            if op == CLEAR:
                for each, _ in list(self._store.items(family)):
                    self._store.delete(family, each)
            elif op == PUT:
                self._store.put(family, key, value)
            else:
                self._store.delete(family, key)
