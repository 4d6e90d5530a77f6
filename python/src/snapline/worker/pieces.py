"""Batches cut to a size: what travels is bounded in bytes, however large single rows are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from snapline.errors import StateTooLarge
from snapline.state.weight import weight

#: Rows that are gathered before they are sent.
LIMIT = 10_000
#: Most bytes of one row: a frame is one array of the JVM, and so is a column of Arrow, which doubles as it grows.
MOST_BYTES = 256 << 20
#: Most bytes of a batch that is handed over whole: Arrow counts the bytes of a column in 32 bits.
MOST_WHOLE = (1 << 31) - 1
#: Rows between two looks at what they weigh: at first, and at most.
_FIRST_STEP, _LAST_STEP = 16, 1_024
_SAMPLE = 4


def pieces(batch: pa.RecordBatch, most: int, what: str) -> Iterator[pa.RecordBatch]:
    """The batch in as few slices as have no more bytes than that, in order. A row that has more comes alone.

    Args:
        what: a row of it is, for the error.

    Raises:
        StateTooLarge: a row cannot travel at all.
    """
    if batch.nbytes <= most:
        yield batch
    elif batch.num_rows == 1:
        if batch.nbytes > MOST_BYTES:
            widest = max(batch.schema.names, key=lambda name: batch.column(name).nbytes)
            raise too_large(f"{what}, most of it in column {widest},", batch.nbytes, MOST_BYTES)
        yield batch
    else:
        half = batch.num_rows // 2
        yield from pieces(batch.slice(0, half), most, what)
        yield from pieces(batch.slice(half), most, what)


def too_large(what: str, size: int, most: int) -> StateTooLarge:
    return StateTooLarge(
        f"{what} of {size} bytes, where at most {most} can travel between Spark and Python.",
        "make it smaller: keep large things in files and their names in rows; split a large value into a list or a "
        "map.",
    )


def is_fixed(kind: pa.DataType) -> bool:
    """Whether all values of the type have the same small size."""
    if pa.types.is_struct(kind):
        return all(is_fixed(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


class Gauge:
    """When gathered rows are to be sent: when there are LIMIT of them, or when they weigh as much as a frame may.

    Attributes:
        limit: so many rows may be gathered before :meth:`is_full` has to be asked.
    """

    def __init__(self, most: int, types: Sequence[pa.DataType]) -> None:
        self._most = most
        self._weighs = not all(map(is_fixed, types))
        self._step = _FIRST_STEP
        self.reset()

    def reset(self) -> None:
        """The rows have been sent."""
        self._seen = 0
        self._bytes = 0
        self.limit = self._step if self._weighs else LIMIT

    def is_full(self, rows: Sequence[Any]) -> bool:
        """Looks at the rows that have come since it did last."""
        added = len(rows) - self._seen
        if not self._weighs or not added:
            return len(rows) >= LIMIT
        new = [rows[i] for i in range(self._seen, len(rows), max(1, added // _SAMPLE))]
        each = max(1, sum(map(weight, new)) // len(new))
        self._seen = len(rows)
        self._bytes += added * each
        self._step = max(1, min(_LAST_STEP, added * 4, self._most // (2 * each)))
        self.limit = min(LIMIT, self._seen + self._step)
        return self._bytes >= self._most or self._seen >= LIMIT
