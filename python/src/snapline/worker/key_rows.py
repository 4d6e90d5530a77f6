"""``process_batch`` for each key, with a list of its rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from snapline.worker.calls import failed
from snapline.worker.decode import row_decoder
from snapline.worker.element import event_times
from snapline.worker.frames import ROWS_PART, Frame
from snapline.worker.loops import Parts, RowLoop


class KeyRowsLoop(RowLoop):
    """Decodes the rows of a chunk, which come sorted by key, at once, and cuts them into one list per key.

    The last key of a chunk waits for the next chunk, or for the end of the epoch, as in ``BatchLoop``.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._columns = len(parts.job.input_columns)
        self._decode = row_decoder(list(parts.schemas[ROWS_PART])[: self._columns])
        event_time = parts.job.event_time
        self._event_time = parts.job.input_columns.index(event_time) if event_time is not None else None
        self._waiting: list[Any] = []
        self._latest: int | None = None
        self._slot = -1

    def run(self, frame: Frame) -> int:
        batch = frame.batch(ROWS_PART, self._parts.schemas)
        if batch is None or not batch.num_rows:
            return 0
        rows = list(self._decode(batch))
        times = None if self._event_time is None else event_times(batch.column(self._event_time))
        slots = batch.column(self._columns).to_numpy()
        starts = [0, *(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(slots)]
        for (start, end), slot in zip(pairwise(starts), slots[starts[:-1]].tolist(), strict=True):
            if slot != self._slot:
                self.finish()
                self._slot = slot
            self._waiting += rows[start:end]
            if times is not None:
                known = [time for time in (self._latest, *times[start:end]) if time is not None]
                self._latest = max(known, default=None)
        return 0

    def finish(self) -> None:
        if not self._waiting:
            return
        parts, rows, slot = self._parts, self._waiting, self._slot
        parts.cursor.slot, parts.cursor.timestamp = slot, self._latest
        self._waiting, self._latest, self._slot = [], None, -1
        key = parts.keys.get(slot)
        try:
            result = parts.function.process_batch(key, rows, parts.context)
            if result is not None:
                parts.outputs.extend(result)
        except Exception as e:
            raise failed(e, "process_batch", parts.job.plan.name, key=key, rows=len(rows)) from e
