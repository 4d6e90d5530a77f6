"""Broadcast rows, as the operator hands them over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from snapline.stream.broadcasting import BroadcastInput
from snapline.testing.chunks import Chunk
from snapline.worker.encode import encoder
from snapline.worker.frames import BROADCAST_PART, Frame, ToWorker, message_of


def in_order(rows: Sequence[Any], given: BroadcastInput) -> list[Any]:
    """By the columns asked for, then by all from the left; nulls first."""
    names = given.schema.names
    columns = [names.index(name) for name in (*given.order, *(name for name in names if name not in given.order))]
    kinds = [given.schema[at].dataType.typeName() for at in range(len(names))]
    columns = [at for at in columns if kinds[at] not in ("map", "struct", "array", "variant")]
    return sorted(rows, key=lambda row: ([(row[at] is not None, row[at]) for at in columns], repr(row)))


def broadcast_chunks(rows: Sequence[Any], schemas: dict[int, pa.Schema], limit: int) -> Iterator[Chunk]:
    """Chunks of rows, each an epoch of its own."""
    for start in range(0, len(rows), limit):
        schema = schemas[BROADCAST_PART]
        columns = zip(*rows[start : start + limit], strict=True)
        arrays = [encoder(field.type)(list(column)) for field, column in zip(schema, columns, strict=True)]
        part = message_of(pa.record_batch(arrays, schema=schema))
        meta = {"first_slot": 0, "end_of_epoch": True}
        yield Chunk(Frame(ToWorker.BROADCAST, meta, {BROADCAST_PART: part}), [], True)
