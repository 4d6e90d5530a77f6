"""``process_batch`` of functions without a key, for each chunk."""

from __future__ import annotations

import pyarrow as pa

from snapline.worker.calls import failed
from snapline.worker.columnar import from_batch
from snapline.worker.element import latest_time
from snapline.worker.frames import ROWS_PART, Frame
from snapline.worker.loops import Parts, RowLoop


class ChunkLoop(RowLoop):
    """Hands chunks over as they came."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._columns = len(parts.job.input_columns)
        event_time = parts.job.event_time
        self._event_time = parts.job.input_columns.index(event_time) if event_time is not None else None

    def run(self, frame: Frame) -> int:
        parts = self._parts
        batch = frame.batch(ROWS_PART, parts.schemas)
        if batch is None or not batch.num_rows:
            return 0
        rows = pa.RecordBatch.from_arrays(batch.columns[: self._columns], names=batch.schema.names[: self._columns])
        parts.cursor.timestamp = latest_time(rows, self._event_time)
        try:
            result = parts.function.process_batch(from_batch(rows, parts.job.plan.batch_type), parts.context)
            if result is not None:
                parts.outputs.extend(result)
        except Exception as e:
            raise failed(e, "process_batch", parts.job.plan.name, rows=rows.num_rows) from e
        return 0
