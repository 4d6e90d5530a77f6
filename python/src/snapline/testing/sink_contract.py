"""Tests of a sink with transactions, for pytest: attempts that die, that are slow, and that come again."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from snapline.sink.attempt import HASH, newest_marker, write_partition
from snapline.sink.transactional import Marker, SinkPartition, TransactionalSink

if TYPE_CHECKING:
    import pyarrow as pa

#: The calls of an attempt whose rows come in two chunks.
CALLS = ("open", "last_marker", "begin", "write", "write", "commit", "close")

_WAIT_SECONDS = 5
_RUN = os.getpid()
_Row = tuple[int, int]


class SinkContract(ABC):
    """A class of tests: derive one whose name begins with ``Test``.

    Rows have the columns ``k int`` and ``v long``. Each test has a partition, or a batch, of its own, so that the
    target may keep its rows between tests. Processes are forked and killed: it runs on Unix.
    """

    @abstractmethod
    def sink(self) -> TransactionalSink:
        """A sink that was not opened yet."""

    @abstractmethod
    def rows(self) -> Iterable[_Row]:
        """All rows that a reader of the target sees now."""

    @property
    def name(self) -> str:
        """The sink's name in the markers, another for each run of the tests."""
        return f"contract-{_RUN}/{type(self).__name__}"

    def test_rows_and_marker_are_there_together(self) -> None:
        self._attempt(1, 0)
        self._check({(1, 0)})
        assert self._marker(1, 1) == _marker(1, 0), "last_marker does not give what commit was given"

    def test_a_batch_that_comes_again_is_passed_over(self) -> None:
        assert self._attempt(2, 0) == (3, False)
        assert self._attempt(2, 0, attempt=1) == (3, True)
        assert self._attempt(2, 1) == (3, False)
        self._check({(2, 0), (2, 1)})

    def test_partitions_have_markers_of_their_own(self) -> None:
        self._attempt(3, 0)
        assert self._marker(4, 0) is None
        self._attempt(4, 0)
        self._check({(3, 0), (4, 0)})

    def test_an_attempt_that_fails_between_two_calls_leaves_no_row(self) -> None:
        for at in range(len(CALLS) - 1):
            partition = 100 + at
            failed = _Ends(self.sink(), at, _fail)
            with contextlib.suppress(_FailedOnPurpose):
                write_partition(failed, self._at(partition, 0), 1, _chunks(partition, 0))
            self._check_none(partition, f"an attempt that failed before call {at + 1}, {CALLS[at]}")
            self._attempt(partition, 0, attempt=1)
            self._check({(partition, 0)})

    def test_an_attempt_whose_process_dies_between_two_calls_leaves_no_row(self) -> None:
        for at in range(len(CALLS) - 1):
            partition = 200 + at
            self._in_process_that_dies(at, partition)
            self._check_none(partition, f"an attempt that died before call {at + 1}, {CALLS[at]}")
            self._attempt(partition, 0, attempt=1)
            self._check({(partition, 0)})

    def test_an_attempt_that_dies_after_its_commit_is_not_repeated(self) -> None:
        self._in_process_that_dies(CALLS.index("close"), 300)
        assert self._attempt(300, 0, attempt=1) == (3, True), "last_marker does not know a batch that was committed"
        self._check({(300, 0)})

    def test_of_two_attempts_at_once_one_writes(self) -> None:
        """The slow one has written its rows when the copy begins. Either it is fenced, or the copy waits for it."""
        slow = self.sink()
        slow.open(self._at(400, 0))
        assert slow.last_marker() is None
        slow.begin()
        for chunk in _chunks(400, 0):
            slow.write(chunk.drop_columns([HASH]))
        ended: list[Any] = []
        copy = threading.Thread(target=lambda: ended.append(self._attempt(400, 0, attempt=1)), daemon=True)
        copy.start()
        copy.join(_WAIT_SECONDS)
        was_faster = not copy.is_alive()
        try:
            slow.commit(_marker(400, 0))
            assert not was_faster, "an attempt committed after a newer one had read the marker"
        except AssertionError:
            raise
        except Exception:
            slow.abort()
            assert was_faster, "the only attempt could not commit"
        finally:
            slow.close()
        copy.join(60)
        assert ended == [(3, not was_faster)]
        self._check({(400, 0)})

    def _at(self, partition: int, batch: int, attempt: int = 0) -> SinkPartition:
        return SinkPartition(self.name, partition, batch, attempt)

    def _attempt(self, partition: int, batch: int, attempt: int = 0) -> tuple[int, bool]:
        return write_partition(self.sink(), self._at(partition, batch, attempt), 1, _chunks(partition, batch))

    def _marker(self, partition: int, batch: int) -> Marker | None:
        return newest_marker(self.sink(), self._at(partition, batch))

    def _in_process_that_dies(self, at: int, partition: int) -> None:
        child = os.fork()
        if not child:
            try:
                write_partition(_Ends(self.sink(), at, _die), self._at(partition, 0), 1, _chunks(partition, 0))
            finally:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the sink failed before call {at + 1}, {CALLS[at]}"

    def _check(self, expected: set[tuple[int, int]]) -> None:
        """Each row of these partitions and batches is there once."""
        partitions = {partition for partition, _ in expected}
        wanted = Counter(row for partition, batch in expected for row in _rows(partition, batch))
        found = Counter((k, v) for k, v in self.rows() if k in partitions)
        assert found == wanted, f"missing: {wanted - found}; too many: {found - wanted}"

    def _check_none(self, partition: int, after: str) -> None:
        found = [row for row in self.rows() if row[0] == partition]
        assert not found, f"after {after}, readers see {found}"


def _rows(partition: int, batch: int) -> list[_Row]:
    return [(partition, batch * 10 + number) for number in range(3)]


def _chunks(partition: int, batch: int) -> list[pa.RecordBatch]:
    """Two, with hashes that differ from row to row."""
    import pyarrow as pa

    def chunk(rows: Sequence[_Row]) -> pa.RecordBatch:
        names, kinds = ("k", "v", HASH), (pa.int32(), pa.int64(), pa.int64())
        columns = ([k for k, _ in rows], [v for _, v in rows], [v * 31 + k for k, v in rows])
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    rows = _rows(partition, batch)
    return [chunk(rows[:2]), chunk(rows[2:])]


def _marker(partition: int, batch: int) -> Marker:
    return Marker(batch, 1, 3, sum(v * 31 + k for k, v in _rows(partition, batch)))


class _FailedOnPurpose(Exception):
    pass


def _fail() -> None:
    raise _FailedOnPurpose


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Ends(TransactionalSink):
    """Hands its calls on, until it ends before the one with a number."""

    def __init__(self, sink: TransactionalSink, at: int, end: Any) -> None:
        self._sink, self._left, self._end = sink, at, end

    def _count(self) -> None:
        if self._left == 0:
            self._end()
        self._left -= 1

    def open(self, partition: SinkPartition) -> None:
        self._count()
        self._sink.open(partition)

    def last_marker(self) -> Marker | None:
        self._count()
        return self._sink.last_marker()

    def begin(self) -> None:
        self._count()
        self._sink.begin()

    def write(self, rows: pa.RecordBatch) -> None:
        self._count()
        self._sink.write(rows)

    def commit(self, marker: Marker) -> None:
        self._count()
        self._sink.commit(marker)

    def abort(self) -> None:
        self._sink.abort()

    def close(self) -> None:
        if self._end is _die:
            self._count()
        self._sink.close()
