"""Everything that a client has set on ``df.writeStream``, for a writer of a classic session beside the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# From the fields of Spark's message to the arguments of trigger().
_TRIGGERS = {
    "processing_time_interval": "processingTime",
    "available_now": "availableNow",
    "once": "once",
    "continuous_checkpoint_interval": "continuous",
    "real_time_batch_duration": "realTime",
}


@dataclass(frozen=True)
class WriterDescription:
    """As the methods of the writer take it; None and empty: not set.

    Attributes:
        trigger: arguments of ``trigger``.
        batches: the pickled function of ``foreachBatch``.
        rows: the pickled function of ``foreach``, with its serializers.
    """

    format: str | None
    mode: str | None
    name: str | None
    options: Mapping[str, str]
    partitions: Sequence[str]
    clusters: Sequence[str]
    trigger: Mapping[str, Any]
    batches: bytes | None
    rows: bytes | None

    @classmethod
    def of(cls, writer: Any) -> WriterDescription:
        """That of a client's writer."""
        message = writer._write_proto
        trigger = message.WhichOneof("trigger")
        return cls(
            format=message.format or None,
            mode=message.output_mode or None,
            name=message.query_name or None,
            options=dict(message.options),
            partitions=list(message.partitioning_column_names),
            clusters=list(message.clustering_column_names),
            trigger={} if trigger is None else {_TRIGGERS[trigger]: getattr(message, trigger)},
            batches=_command(message, "foreach_batch"),
            rows=_command(message, "foreach_writer"),
        )

    def on(self, frame: Any) -> Any:
        """A writer of a classic DataFrame."""
        from pyspark.serializers import CloudPickleSerializer

        serializer: Any = CloudPickleSerializer()
        writer = frame.writeStream.options(**self.options)
        for method, value in (("format", self.format), ("outputMode", self.mode), ("queryName", self.name)):
            if value is not None:
                getattr(writer, method)(value)
        if self.partitions:
            writer.partitionBy(*self.partitions)
        if self.clusters:
            writer.clusterBy(*self.clusters)
        if self.trigger:
            writer.trigger(**self.trigger)
        if self.batches is not None:
            writer.foreachBatch(serializer.loads(self.batches))
        if self.rows is not None:
            _set_rows_function(writer, *serializer.loads(self.rows))
        return writer


def _command(message: Any, field: str) -> bytes | None:
    return bytes(getattr(message, field).python_function.command) if message.HasField(field) else None


def _set_rows_function(writer: Any, function: Any, _profiler: Any, reads: Any, writes: Any) -> None:
    """``foreach``, whose function Spark's client has wrapped as the classic call does."""
    from pyspark.core.rdd import _wrap_function

    context = writer._spark._sc
    wrapped = _wrap_function(context, function, reads, writes)
    foreach = context._jvm.org.apache.spark.sql.execution.python.streaming.PythonForeachWriter
    writer._jwrite.foreach(foreach(wrapped, writer._df._jdf.schema()))
