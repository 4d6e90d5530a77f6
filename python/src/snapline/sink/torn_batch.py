"""Refuses a micro-batch that a sink has in part, and that is split in another way now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snapline.errors import IncompatibleState
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.restored import read_restored
from snapline.sink.attempt import newest_marker
from snapline.sink.partition_notes import PartitionNotes
from snapline.sink.running_query import RunningQuery
from snapline.sink.transactional import SinkPartition, TransactionalSink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_THERE = "partitions long, is_of_batch boolean"


@dataclass(frozen=True)
class SinkBatch:
    """One micro-batch of a sink.

    Attributes:
        name: the sink's in the query.
        number: the micro-batch's.
        partitions: how many it has now.
    """

    query: RunningQuery
    name: str
    number: int
    partitions: int

    @property
    def sink(self) -> str:
        """As the markers' key has it."""
        return f"{self.query.id}/{self.name}"


# By query and sink, the newest batch that was begun in this process. A sink's batches come one after the other.
_begun: dict[str, SinkBatch] = {}


def begin_batch(session: SparkSession, sink: TransactionalSink, batch: SinkBatch) -> bool:
    """Before its tasks. Costs nothing if the batch has as many partitions as the one before, in the same run.

    Else their number is noted in the checkpoint folder. If the batch may have come before in another number of
    partitions, the sink is asked for the markers of those: with one of this batch, it is refused. In a folder that was
    begun with a savepoint nothing is noted of that batch, and the markers say how many partitions there were.

    Returns:
        Whether an earlier run may have written the batch.

    Raises:
        IncompatibleState: the sink has the batch in part, in another number of partitions.
    """
    last = _begun.get(batch.sink)
    if last is not None and last.query.run != batch.query.run:
        last = None
    # A run begins with the batch that may have come before, and later ones are new.
    may_be_there = last is None or last.number == batch.number
    if last is None or last.partitions != batch.partitions:
        files = HadoopFiles(session, batch.query.checkpoint)
        notes = PartitionNotes(files, batch.name)
        before = notes.begun_with(batch.number)
        if before != {batch.partitions}:
            # With a savepoint, nothing is noted of the batch before the first one here.
            begins = not before and read_restored(files) is not None
            if may_be_there:
                _refuse_torn(session, sink, batch, batch.partitions if begins else max(before, default=0))
            notes.add(batch.number, batch.partitions)
    _begun[batch.sink] = batch
    return may_be_there


def _refuse_torn(session: SparkSession, sink: TransactionalSink, batch: SinkBatch, before: int) -> None:
    """``before``: how many partitions the batch had, as far as is known."""
    others: list[int] = []
    seen = 0
    while seen < before:
        # Tasks look, for the driver may not reach the system.
        partitions = session.range(seen, before, 1, before - seen)
        there = partitions.mapInArrow(_look(sink, batch), _THERE).collect()
        others += [row.partitions for row in there if row.is_of_batch and row.partitions != batch.partitions]
        # A marker may be of a batch that had more of them.
        seen, before = before, max([before, *(row.partitions for row in there)])
    if others:
        raise IncompatibleState(
            f"{len(others)} of the partitions of batch {batch.number} are in the sink {batch.sink}; the batch had "
            f"{others[0]} partitions, and has {batch.partitions} now.",
            "set back what splits a batch (cores, spark.sql.shuffle.partitions, spark.sql.files.*); or remove the rows "
            f"of batch {batch.number} from the sink, and its markers of that batch.",
        )


def _look(sink: TransactionalSink, batch: SinkBatch) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """By partition, how many partitions the batch of its marker had, 0 if it has none, and whether it is this batch."""

    def look(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        for chunk in chunks:
            for number in chunk.column("id").to_pylist():
                found = newest_marker(sink, SinkPartition(batch.sink, number, batch.number, task.attemptNumber()))
                had = 0 if found is None else found.partitions
                is_of_batch = found is not None and found.batch == batch.number
                yield pa.RecordBatch.from_pydict({"partitions": [had], "is_of_batch": [is_of_batch]})

    return look
