"""Runs a sink of people's own in foreachBatch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from snapline.errors import InvalidConfiguration
from snapline.sink.attempt import HASH, write_partition
from snapline.sink.named_writer import NamedWriter
from snapline.sink.running_query import RunningQuery
from snapline.sink.torn_batch import SinkBatch, begin_batch
from snapline.sink.transactional import SinkPartition, TransactionalSink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_RESULT = "rows long, is_there boolean"


def write_batches(sink: TransactionalSink, name: str | None = None) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch``, or a sink of :func:`snapline.each_output`, that writes each row once.

    It raises InvalidConfiguration for a batch that another sink has written under the same name. It raises
    IncompatibleState for a batch that the sink has in part, in another number of partitions.

    Args:
        sink: pickled with each micro-batch, and opened in each of its tasks that has rows. In the first micro-batch of
            a run it is opened in all of them, for their markers.
        name: tells apart the sinks of a query, wherever they write to; None: the name of the sink's class.

    Raises:
        InvalidConfiguration: the sink is none.
    """
    if not isinstance(sink, TransactionalSink):
        what = "the class itself" if isinstance(sink, type) else "no TransactionalSink"
        raise InvalidConfiguration(f"{sink!r}, {what}.", "give an object of a subclass of snapline.TransactionalSink.")
    return _Batches(sink, name or type(sink).__name__)


class _Batches(NamedWriter):
    naming = "write_batches(sink, name)"

    def __init__(self, sink: TransactionalSink, name: str) -> None:
        super().__init__(name, sink)
        self._sink = sink

    def _write(self, df: DataFrame, batch: int, query: RunningQuery) -> None:
        java: Any = df._jdf
        partitions = int(java.queryExecution().toRdd().getNumPartitions())
        now = SinkBatch(query, self.name, batch, partitions)
        may_be_there = begin_batch(df.sparkSession, self._sink, now)
        # All partitions are run: each has state to commit.
        _with_hashes(df).mapInArrow(_task(self._sink, now, may_be_there), _RESULT).collect()


def _task(
    sink: TransactionalSink, batch: SinkBatch, may_be_there: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def write(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        partition = SinkPartition(batch.sink, task.partitionId(), batch.number, task.attemptNumber())
        rows, is_there = write_partition(sink, partition, batch.partitions, chunks, may_be_there=may_be_there)
        yield pa.RecordBatch.from_pydict({"rows": [rows], "is_there": [is_there]})

    return write


def _with_hashes(df: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import MapType

    quoted = [(df["`" + field.name.replace("`", "``") + "`"], field.dataType) for field in df.schema.fields]
    # Maps have no order, and Spark hashes none.
    hashed = [F.to_json(column) if isinstance(kind, MapType) else column for column, kind in quoted]
    return df.withColumn(HASH, F.xxhash64(*hashed))
