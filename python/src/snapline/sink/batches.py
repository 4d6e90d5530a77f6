"""Runs a sink of people's own in foreachBatch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from snapline.errors import InvalidConfiguration
from snapline.sink.attempt import HASH, write_partition
from snapline.sink.transactional import SinkPartition, TransactionalSink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_RESULT = "rows long, is_there boolean"
# Spark's own (StreamExecution).
_QUERY = "sql.streaming.queryId"


def write_batches(sink: TransactionalSink, name: str | None = None) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch``, or a sink of :func:`snapline.each_output`, that writes each row once.

    Args:
        sink: pickled with each micro-batch, and opened in each of its tasks that has rows.
        name: tells apart the sinks of a query; None: the name of the sink's class.

    Raises:
        InvalidConfiguration: the sink is none.
    """
    if not isinstance(sink, TransactionalSink):
        what = "the class itself" if isinstance(sink, type) else "no TransactionalSink"
        raise InvalidConfiguration(f"{sink!r}, {what}.", "give an object of a subclass of snapline.TransactionalSink.")
    own = name or type(sink).__name__

    def write(df: DataFrame, batch: int) -> None:
        _write(df, batch, f"{query_of(df)}/{own}", sink)

    return write


def query_of(df: DataFrame) -> str:
    """The id of the streaming query whose micro-batch this is.

    Raises:
        InvalidConfiguration: it is no micro-batch.
    """
    found = df.sparkSession.sparkContext.getLocalProperty(_QUERY)
    if not found:
        raise InvalidConfiguration(
            "the rows are of no streaming query, whose batches have numbers.", "use the sink in foreachBatch."
        )
    return str(found)


def _write(df: DataFrame, batch: int, name: str, sink: TransactionalSink) -> None:
    java: Any = df._jdf
    partitions = int(java.queryExecution().toRdd().getNumPartitions())

    def write(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        partition = SinkPartition(name, task.partitionId(), batch, task.attemptNumber())
        rows, is_there = write_partition(sink, partition, partitions, chunks)
        yield pa.RecordBatch.from_pydict({"rows": [rows], "is_there": [is_there]})

    # All partitions are run: each has state to commit.
    _with_hashes(df).mapInArrow(write, _RESULT).collect()


def _with_hashes(df: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import MapType

    quoted = [(df["`" + field.name.replace("`", "``") + "`"], field.dataType) for field in df.schema.fields]
    # Maps have no order, and Spark hashes none.
    hashed = [F.to_json(column) if isinstance(kind, MapType) else column for column, kind in quoted]
    return df.withColumn(HASH, F.xxhash64(*hashed))
