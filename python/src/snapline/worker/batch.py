"""``process_batch`` for each key."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from snapline.worker.calls import failed
from snapline.worker.columnar import from_batch
from snapline.worker.element import latest_time
from snapline.worker.frames import ROWS_PART, Frame
from snapline.worker.loops import Parts, RowLoop
from snapline.worker.pieces import MOST_WHOLE, too_large


class BatchLoop(RowLoop):
    """Cuts the rows, which come sorted by key, into one batch per key.

    The last key of a chunk waits for the next chunk, or for the end of the epoch: only a key whose rows an epoch
    cannot hold gets several calls.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._columns = len(parts.job.input_columns)
        event_time = parts.job.event_time
        self._event_time = parts.job.input_columns.index(event_time) if event_time is not None else None
        self._waiting: list[pa.RecordBatch] = []
        self._slot = -1

    def run(self, frame: Frame) -> int:
        batch = frame.batch(ROWS_PART, self._parts.schemas)
        if batch is None or not batch.num_rows:
            return 0
        slots = batch.column(self._columns).to_numpy()
        rows = pa.RecordBatch.from_arrays(batch.columns[: self._columns], names=batch.schema.names[: self._columns])
        starts = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
        for start, end in pairwise(starts):
            slot = int(slots[start])
            if slot != self._slot:
                self.finish()
                self._slot = slot
            self._waiting.append(rows.slice(start, end - start))
        return 0

    def finish(self) -> None:
        if not self._waiting:
            return
        size = sum(rows.nbytes for rows in self._waiting)
        if size > MOST_WHOLE:
            key = self._parts.keys.get(self._slot)
            raise too_large(
                f"the rows of key {key!r:.200} in one micro-batch, which process_batch gets at once,", size, MOST_WHOLE
            )
        whole = self._waiting[0] if len(self._waiting) == 1 else pa.concat_batches(self._waiting)
        self._waiting.clear()
        slot, self._slot = self._slot, -1
        self._call(slot, whole)

    def _call(self, slot: int, rows: pa.RecordBatch) -> None:
        parts = self._parts
        parts.cursor.slot = slot
        parts.cursor.timestamp = latest_time(rows, self._event_time)
        key = parts.keys.get(slot)
        try:
            result = parts.function.process_batch(key, from_batch(rows, parts.job.plan.batch_type), parts.context)
            if result is not None:
                parts.outputs.extend(result)
        except Exception as e:
            raise failed(e, "process_batch", parts.job.plan.name, key=key, rows=rows.num_rows) from e
