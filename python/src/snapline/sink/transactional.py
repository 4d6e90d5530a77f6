"""The base class of people's own sinks with transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_BITS = 64


@dataclass(frozen=True)
class Marker:
    """The newest batch of a partition that a sink has. It is written in the transaction of the rows.

    Attributes:
        batch: number of the micro-batch.
        partitions: how many partitions that micro-batch had.
        rows: how many rows of it are in this partition.
        digest: a number of 64 bits that the rows have in common with the same rows only, whatever their order.
    """

    batch: int
    partitions: int
    rows: int
    digest: int


def signed(digest: int) -> int:
    """As a number of 64 bits with a sign, which databases have a type for."""
    low = digest % (1 << _BITS)
    return low - (1 << _BITS) if low >> (_BITS - 1) else low


@dataclass(frozen=True)
class SinkPartition:
    """One partition of one micro-batch, as a task writes it.

    Attributes:
        sink: ``query/name``, for the markers' key: the id of the query, and the name of the sink.
        partition: number of the partition.
        batch: number of the micro-batch.
        attempt: number of this attempt of the task, from 0 on.
    """

    sink: str
    partition: int
    batch: int
    attempt: int


class TransactionalSink(ABC):
    """A system with transactions, and how one partition of a micro-batch is written to it.

    Each task has a copy, pickled before the query starts. It calls :meth:`open`, :meth:`last_marker`, and, unless the
    marker is of this batch, :meth:`begin`, :meth:`write` for each chunk of rows, and :meth:`commit`; then
    :meth:`close`. A failure between them is followed by :meth:`abort` and :meth:`close`, or by nothing at all, if the
    process dies. If a micro-batch comes again with another number of partitions, tasks read the markers of those it had
    first: :meth:`open`, :meth:`last_marker`, :meth:`abort` and :meth:`close`.

    The system has to keep two promises. Rows and marker are there together or not at all. After :meth:`last_marker` has
    returned no transaction that another attempt has open can commit: it is fenced, or it fails at its commit.
    :class:`snapline.testing.SinkContract` tests both.
    """

    @abstractmethod
    def open(self, partition: SinkPartition) -> None:
        """Connects."""

    @abstractmethod
    def last_marker(self) -> Marker | None:
        """The partition's newest marker, after other attempts are fenced; None: it has none."""

    @abstractmethod
    def begin(self) -> None:
        """Begins a transaction."""

    @abstractmethod
    def write(self, rows: pa.RecordBatch) -> None:
        """Writes rows in the transaction, with the columns of the query."""

    @abstractmethod
    def commit(self, marker: Marker) -> None:
        """Writes the marker in the transaction, and commits it. It raises unless both are there for good."""

    @abstractmethod
    def abort(self) -> None:
        """Ends the transaction without its rows, as well as that can be done."""

    def close(self) -> None:  # noqa: B027 - a sink without a connection has nothing to give back
        """Gives back the connection. It is called in every case but the death of the process."""
