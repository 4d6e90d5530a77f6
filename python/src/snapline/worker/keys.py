"""The keys of an epoch by slot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from snapline.state.row import row_maker
from snapline.worker.decode import decoder


class SlotKeys:
    """Decodes keys when the first of them is asked for: many functions never do."""

    def __init__(self, schema: pa.Schema) -> None:
        self._decoders = [decoder(field.type, as_key=True) for field in schema]
        self._make = row_maker(schema.names)
        self._keys: list[Any] = []
        self._waiting: list[pa.RecordBatch] = []

    def load(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)

    def get(self, slot: int) -> Any:
        """The key: the value of a single column, else a row."""
        if self._waiting:
            self._decode()
        return self._keys[slot]

    def _decode(self) -> None:
        for batch in self._waiting:
            columns = [decode(column) for decode, column in zip(self._decoders, batch.columns, strict=True)]
            self._keys.extend(columns[0] if len(columns) == 1 else map(self._make, zip(*columns, strict=True)))
        self._waiting.clear()

    def reset(self) -> None:
        self._keys.clear()
        self._waiting.clear()
