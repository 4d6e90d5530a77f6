"""A running query with its checkpoints: Spark's query, and what starts it again."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snapline.errors import SnaplineError, StateNotFound
from snapline.query.listener import CheckpointListener, ListenerCalls
from snapline.query.real_time import wait_for_batch_end
from snapline.query.restart import RestartStrategy
from snapline.query.runs import Runs
from snapline.query.savepoints import await_checkpoint, check_last_savepoint, take_last_savepoint, take_savepoint
from snapline.recovery.report import RecoveryReport

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from snapline.savepoint import SavepointMetadata

_LISTENER_POLL = 0.2

_log = logging.getLogger(__name__)


class SupervisedQuery:
    """Spark's streaming query, with checkpoints. All other attributes are those of the query that runs now.

    A thread of its own waits for the query to end, and starts it again as the restart strategy says.
    """

    def __init__(
        self, runs: Runs, strategy: RestartStrategy, query: StreamingQuery, listeners: Sequence[CheckpointListener] = ()
    ) -> None:
        self._runs = runs
        self._strategy = strategy
        self._query = query
        self._failures: list[float] = []
        self._failure: Exception | None = None
        self._ending = "SUSPENDED"
        self._stopped = threading.Event()
        self._over = threading.Event()
        self._changing = threading.Lock()
        threading.Thread(target=self._supervise, name=f"snapline-{query.id}", daemon=True).start()
        self._telling: threading.Thread | None = None
        if listeners:
            calls = ListenerCalls(listeners)
            self._telling = threading.Thread(target=self._tell, args=(calls,), name="snapline-listeners", daemon=True)
            self._telling.start()

    @classmethod
    def started(
        cls, runs: Runs, strategy: RestartStrategy, restore: int | None, listeners: Sequence[CheckpointListener]
    ) -> SupervisedQuery:
        """Recovers and starts."""
        try:
            return cls(runs, strategy, runs.begin(restore), listeners)
        except BaseException:
            runs.driver.end("SUSPENDED")
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)

    @property
    def isActive(self) -> bool:  # Spark's name
        """Whether the query runs, or is about to be started again."""
        return not self._over.is_set()

    @property
    def restarts(self) -> int:
        """How often it was started again since its start by hand."""
        return len(self._failures)

    @property
    def recovery(self) -> RecoveryReport | None:
        """The report of the last start, by hand or by the restart strategy, that rebuilt state; None: none did."""
        return self._runs.report

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # Spark's name
        """Waits for the end, restarts included; as Spark's, with a timeout in seconds says whether it has ended.

        Raises:
            StreamingQueryException: it failed, and is not started again.
        """
        ended = self._over.wait(timeout)
        if ended and self._telling is not None and self._telling is not threading.current_thread():
            self._telling.join()
        if self._failure is not None:
            raise self._failure
        return None if timeout is None else ended

    def exception(self) -> Exception | None:
        """The error that ended it for good."""
        return self._failure

    def stop(self) -> None:
        """Stops the query; a later start goes on from its newest checkpoint, which stays whatever the retention is."""
        self._end("SUSPENDED")

    def cancel(self) -> None:
        """Stops the query for good; ``externalized_checkpoint_retention`` says what becomes of its checkpoints."""
        self._end("CANCELED")

    def checkpoints(self) -> dict[str, Any]:
        """Counts, summary and the last checkpoints since the start, newest first.

        With the names of Flink's REST interface; times in ms since 1970, durations in ms, sizes in bytes.
        """
        history: dict[str, Any] = json.loads(self._runs.driver.history())
        return history

    def trigger_checkpoint(self, timeout: float = 60.0, *, savepoint: bool = False) -> int:
        """Takes a checkpoint at the next barrier, and waits for it.

        That is the end of the next micro-batch. If none follows for half a second, it is that of the last one: with an
        interval, or where that has a checkpoint already, whose files this one shares.

        Args:
            timeout: in seconds.
            savepoint: it is kept until :meth:`dispose_checkpoint`, whatever ``num_retained`` and the retention are.

        Returns:
            Its number.

        Raises:
            StorageFailure: it failed, or was not complete in time. Without an interval there is no barrier where there
                is no input.
        """
        return await_checkpoint(self._runs, self._runs.driver.trigger(savepoint), timeout)

    def savepoint(
        self, path: str, timeout: float = 60.0, *, format: str = "canonical", in_flight: bool = False
    ) -> SavepointMetadata:
        """Takes a savepoint while the query runs.

        With an interval it is of a checkpoint, taken as by :meth:`trigger_checkpoint`; else of the newest batch. Where
        rows may wait (``unaligned``) it is of the end of the next micro-batch, and that one leaves none, unless they
        are to be ``in_flight``.

        Args:
            path: a folder that does not exist, or is empty.
            timeout: how long to wait for that checkpoint, in seconds.
            format: ``canonical`` (Parquet) or ``native`` (the files of the state store).
            in_flight: rows that wait are in the savepoint, as they are in a checkpoint, and no batch takes the time to
                process all of them. ``native`` only.

        Raises:
            InvalidConfiguration: the folder is not empty, there is no such format, or it has no place for rows.
            IncompatibleState: a state cannot be kept in a savepoint.
            StorageFailure: the file system refused, or no checkpoint was complete in time.
        """
        return take_savepoint(self._runs, path, timeout, format, in_flight)

    def stop_with_savepoint(
        self, path: str, drain: bool = False, *, format: str = "canonical", in_flight: bool = False
    ) -> SavepointMetadata:
        """Stops the query, and takes a savepoint of all it has done.

        With an interval, the batches since its newest checkpoint are run again first, without output. Rows that wait
        are processed first, into the sink, unless they are to be ``in_flight``. A batch that a sink of
        :func:`snapline.exactly_once` or a function may have in part is run to its end. In real-time mode this waits for
        the end of the micro-batch under way.

        Args:
            path: a folder that does not exist, or is empty.
            drain: end event time first, as Flink does: a last batch has a watermark after every event, so that windows
                close and event-time timers fire, into the sink. For a query that ends for good: to go on from such a
                savepoint is refused, for every row would be late.
            format: as for :meth:`savepoint`, and so is ``in_flight``.

        Raises: as :meth:`savepoint`. The query is stopped then, too.
            StreamingQueryException: the batch that is run to its end failed.
            QueryTakenOver: another driver has the checkpoint folder. Nothing is changed in it.
            ReplayStopped: by :meth:`stop`, while a batch was run.
        """
        check_last_savepoint(self._runs, path, drain, format, in_flight)
        if self._runs.is_real_time:
            wait_for_batch_end(self)
        self.stop()
        return take_last_savepoint(self._runs, path, drain, format, in_flight)

    def dispose_checkpoint(self, number: int) -> None:
        """Removes a checkpoint, and the files that no other one names.

        Raises:
            StateNotFound: there is none of that number that may go: a restart takes the newest that is no savepoint.
        """
        if not self._runs.driver.dispose(number):
            raise StateNotFound(
                f"there is no complete checkpoint {number} that could be removed.",
                "`snapline checkpoints list` shows which there are: the newest that is no savepoint has to stay, and a "
                "query knows of older ones when its first batch begins.",
            )

    def _end(self, ending: str) -> None:
        self._ending = ending
        self._stopped.set()
        # The thread that starts the query again holds the lock for as long as batches are replayed.
        self._runs.stop()
        with self._changing:
            self._query.stop()
        self._over.wait()

    def _tell(self, calls: ListenerCalls) -> None:
        while True:
            over = self._over.wait(_LISTENER_POLL)
            calls.look(self.checkpoints()["history"])
            if over:
                return

    def _supervise(self) -> None:
        try:
            while True:
                try:
                    self._query.awaitTermination()
                    self._failure = self._runs.taken_over()
                    if not self._stopped.is_set():
                        self._checkpoint_last()
                    return
                except Exception as failure:
                    if not self._start_again(failure):
                        return
        except Exception as unexpected:
            # A restart strategy may be the user's. An end that nobody hears of would pass for a good one.
            self._failure, self._ending = unexpected, "FAILED"
        finally:
            try:
                self._runs.driver.end(self._ending)
            finally:
                self._over.set()

    def _checkpoint_last(self) -> None:
        """The query has ended well, whatever becomes of this: the next start replays what is in no checkpoint."""
        try:
            self._runs.driver.checkpointLast()
        except Exception as e:
            _log.warning("No checkpoint of the last batch could be taken: %s", e)

    def _start_again(self, failure: Exception) -> bool:
        """After a failure; False: it has ended for good."""
        while not self._stopped.is_set():
            self._failure = self._runs.taken_over()
            if self._failure is not None:
                return False
            if not self._runs.has_context:
                self._failure = failure
                return False
            delay: float | None = 0.0
            if not self._set_aside(failure):
                now = time.monotonic()
                delay = self._strategy.next_delay(now, (*self._failures, now))
                if delay is None:
                    self._failure, self._ending = failure, "FAILED"
                    return False
                self._failures.append(now)
            said = (str(failure) or repr(failure)).splitlines()[0]
            _log.warning("The query failed and starts again in %.1f s: %s", delay, said)
            if self._stopped.wait(delay):
                return False
            try:
                with self._changing:
                    if self._stopped.is_set():
                        return False
                    self._query = self._runs.begin()
                return True
            except Exception as again:
                failure = again
        return False

    def _set_aside(self, failure: Exception) -> bool:
        """Whether the query failed by a damaged checkpoint that is out of the way now. Storage that refuses even that
        is the strategy's to bear, as where it refuses a batch."""
        try:
            return self._runs.set_aside(failure)
        except SnaplineError as refusal:
            _log.warning("A damaged checkpoint could not be set aside: %s", refusal)
            return False
