"""One attempt of a task to write its partition of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

from snapline.errors import FunctionNotDeterministic, IncompatibleState
from snapline.sink.transactional import Marker, SinkPartition, TransactionalSink, signed

if TYPE_CHECKING:
    import pyarrow as pa

#: The column with a row's hash, which the sink does not get.
HASH = "__snapline_hash"


def write_partition(
    sink: TransactionalSink,
    partition: SinkPartition,
    partitions: int,
    chunks: Iterable[pa.RecordBatch],
    *,
    may_be_there: bool = False,
) -> tuple[int, bool]:
    """Writes the rows in one transaction with their marker, unless the sink has them. All rows are read either way.

    Args:
        partitions: how many the micro-batch has.
        may_be_there: an earlier run may have written the micro-batch, so that the sink is asked though there is no row.
        chunks: rows with their hashes, an int64 in the column :data:`HASH`.

    Returns:
        How many rows there are, and whether the sink had them.

    Raises:
        FunctionNotDeterministic: the sink has other rows of this batch.
        IncompatibleState: the sink has a later batch.
    """
    filled = (chunk for chunk in chunks if chunk.num_rows)
    first = next(filled, None)
    if first is None:
        there = newest_marker(sink, partition) if may_be_there else None
        if there is not None and there.batch == partition.batch:
            raise _differs(partition, there, Marker(partition.batch, partitions, 0, 0))
        return 0, False
    try:
        sink.open(partition)
        try:
            return _write(sink, partition, partitions, chain((first,), filled))
        except BaseException:
            sink.abort()
            raise
    finally:
        sink.close()


def _write(
    sink: TransactionalSink, partition: SinkPartition, partitions: int, chunks: Iterable[pa.RecordBatch]
) -> tuple[int, bool]:
    import pyarrow.compute as pc

    is_there = _look(sink, partition)
    rows = digest = 0
    for chunk in chunks:
        rows += chunk.num_rows
        digest += pc.sum(chunk.column(HASH)).as_py()
        if not is_there:
            sink.write(chunk.drop_columns([HASH]))
    marker = Marker(partition.batch, partitions, rows, signed(digest))
    if is_there:
        _check_same(sink, partition, marker)
    else:
        sink.commit(marker)
    return rows, is_there


def newest_marker(sink: TransactionalSink, partition: SinkPartition) -> Marker | None:
    """The partition's newest marker, which an attempt finds that writes nothing. Other attempts are fenced.

    Raises:
        IncompatibleState: the sink has a later batch.
    """
    try:
        sink.open(partition)
        try:
            return _last(sink, partition)
        finally:
            sink.abort()
    finally:
        sink.close()


def _look(sink: TransactionalSink, partition: SinkPartition) -> bool:
    """Whether the batch is there. If not, a transaction has begun."""
    last = _last(sink, partition)
    if last is not None and last.batch == partition.batch:
        return True
    sink.begin()
    return False


def _last(sink: TransactionalSink, partition: SinkPartition) -> Marker | None:
    last = sink.last_marker()
    if last is not None and last.batch > partition.batch:
        raise IncompatibleState(
            f"partition {partition.partition} of the sink {partition.sink} has batch {last.batch}, and batch "
            f"{partition.batch} was to be written: the checkpoint folder is older than the sink, or another query "
            "writes as this one.",
            "put the newest state of the checkpoint folder back, or stop the other query.",
        )
    return last


def _check_same(sink: TransactionalSink, partition: SinkPartition, now: Marker) -> None:
    there = sink.last_marker()
    if there != now:
        raise _differs(partition, there, now)


def _differs(partition: SinkPartition, there: Marker | None, now: Marker) -> FunctionNotDeterministic:
    return FunctionNotDeterministic(
        f"partition {partition.partition} of the sink {partition.sink} has {there}, and the batch was now made as "
        f"{now}.",
        "make the query give the same rows for the same input.",
    )
