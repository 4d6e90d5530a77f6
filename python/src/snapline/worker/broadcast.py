"""``process_broadcast_element`` for each row of the broadcast stream."""

from __future__ import annotations

from snapline.functions.broadcast import BroadcastContext
from snapline.state.row import row_maker
from snapline.worker.calls import failed
from snapline.worker.decode import decoder
from snapline.worker.frames import BROADCAST_PART, Frame
from snapline.worker.loops import Parts


class BroadcastLoop:
    """Hands over the rows in the order in which they came, which is the same in all partitions."""

    def __init__(self, parts: Parts, context: BroadcastContext) -> None:
        self._parts = parts
        self._context = context
        schema = parts.schemas[BROADCAST_PART]
        self._decoders = [decoder(field.type) for field in schema]
        self._make = row_maker(schema.names)

    def run(self, frame: Frame) -> None:
        parts = self._parts
        batch = frame.batch(BROADCAST_PART, parts.schemas)
        if batch is None:
            return
        parts.cursor.timestamp = None
        process = parts.function.process_broadcast_element
        values = [decode(column) for decode, column in zip(self._decoders, batch.columns, strict=True)]
        row = None
        try:
            for row in map(self._make, zip(*values, strict=True)):
                result = process(row, self._context)
                if result is not None:
                    parts.outputs.extend(result)
        except Exception as e:
            where = {"row": row} if row is not None else {}
            raise failed(e, "process_broadcast_element", parts.job.plan.name, **where) from e
