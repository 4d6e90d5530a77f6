"""Sinks that have each row of a query once, whatever fails."""

from snapline.sink.batch_markers import Once, once
from snapline.sink.batches import write_batches
from snapline.sink.sinks import ExactlyOnce, exactly_once
from snapline.sink.transactional import Marker, SinkPartition, TransactionalSink

__all__ = [
    "ExactlyOnce",
    "Marker",
    "Once",
    "SinkPartition",
    "TransactionalSink",
    "exactly_once",
    "once",
    "write_batches",
]
