"""A query under supervision beside a server of Spark Connect, as its client has it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snapline.query.beside import call_query, explain_query, look_at_query, start_beside
from snapline.query.listener import CheckpointListener, ListenerCalls
from snapline.remote.beside import call_beside

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from snapline.query.supervised import SupervisedQuery
    from snapline.recovery.report import RecoveryReport
    from snapline.savepoint import SavepointMetadata

# A call to the server waits no longer than this, in s, so that a client is never stuck in one.
_WAIT = 5.0
_LISTENER_POLL = 1.0


class RemoteQuery:
    """As :class:`snapline.SupervisedQuery`: the same methods, with the same results and errors.

    The query goes on when the client ends; it is stopped when the client's session is closed (``spark.stop()``).
    """

    def __init__(self, session: Any, told: Mapping[str, Any], listeners: Sequence[CheckpointListener] = ()) -> None:
        """
        Args:
            session: the client's.
            told: as :func:`start_beside` gives it.
            listeners: called in this process, within about a second.
        """
        self._session = session
        self._key = told["key"]
        self.id: str = told["id"]
        self.name: str | None = told["name"]
        self._telling: threading.Thread | None = None
        if listeners:
            calls = ListenerCalls(listeners)
            self._telling = threading.Thread(target=self._tell, args=(calls,), name="snapline-listeners", daemon=True)
            self._telling.start()

    @property
    def runId(self) -> str:  # Spark's name
        """The id of Spark's query that runs now."""
        return str(self._look("runId"))

    @property
    def isActive(self) -> bool:  # Spark's name
        """Whether the query runs, or is about to be started again."""
        return bool(self._look("isActive"))

    @property
    def status(self) -> dict[str, Any]:
        """As Spark's."""
        return dict(self._look("status"))

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:  # Spark's name
        """As Spark's."""
        text = self._look("lastProgress")
        return None if text is None else _progress(text)

    @property
    def recentProgress(self) -> list[StreamingQueryProgress]:  # Spark's name
        """As Spark's."""
        return [_progress(text) for text in self._look("recentProgress")]

    @property
    def restarts(self) -> int:
        """How often it was started again since its start by hand."""
        return int(self._look("restarts"))

    @property
    def recovery(self) -> RecoveryReport | None:
        """The report of the last start that rebuilt state; None: none did."""
        report: RecoveryReport | None = self._look("recovery")
        return report

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # Spark's name
        """Waits for the end, restarts included; with a timeout in seconds says whether it has ended.

        Raises:
            StreamingQueryException: it failed, and is not started again.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        ended = False
        while not ended:
            left = _WAIT if deadline is None else min(_WAIT, max(0.0, deadline - time.monotonic()))
            ended = bool(self._call("awaitTermination", left))
            if deadline is not None and time.monotonic() >= deadline:
                break
        if ended and self._telling is not None and self._telling is not threading.current_thread():
            self._telling.join()
        return None if timeout is None else ended

    def exception(self) -> Exception | None:
        """The error that ended it for good."""
        failure: Exception | None = self._call("exception")
        return failure

    def processAllAvailable(self) -> None:  # Spark's name
        """As Spark's."""
        self._call("processAllAvailable")

    def explain(self, extended: bool = False) -> None:
        """Prints the plan of the last batch, as Spark's."""
        print(call_beside(self._session, explain_query, self._key, extended))

    def stop(self) -> None:
        """As :meth:`SupervisedQuery.stop`."""
        self._call("stop")

    def cancel(self) -> None:
        """As :meth:`SupervisedQuery.cancel`."""
        self._call("cancel")

    def checkpoints(self) -> dict[str, Any]:
        """As :meth:`SupervisedQuery.checkpoints`."""
        return dict(self._call("checkpoints"))

    def trigger_checkpoint(self, timeout: float = 60.0, *, savepoint: bool = False) -> int:
        """As :meth:`SupervisedQuery.trigger_checkpoint`."""
        return int(self._call("trigger_checkpoint", timeout, savepoint=savepoint))

    def savepoint(
        self, path: str, timeout: float = 60.0, *, format: str = "canonical", in_flight: bool = False
    ) -> SavepointMetadata:
        """As :meth:`SupervisedQuery.savepoint`; the path is the server's."""
        taken: SavepointMetadata = self._call("savepoint", path, timeout, format=format, in_flight=in_flight)
        return taken

    def stop_with_savepoint(
        self, path: str, drain: bool = False, *, format: str = "canonical", in_flight: bool = False
    ) -> SavepointMetadata:
        """As :meth:`SupervisedQuery.stop_with_savepoint`; the path is the server's."""
        taken: SavepointMetadata = self._call("stop_with_savepoint", path, drain, format=format, in_flight=in_flight)
        return taken

    def dispose_checkpoint(self, number: int) -> None:
        """As :meth:`SupervisedQuery.dispose_checkpoint`."""
        self._call("dispose_checkpoint", number)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return call_beside(self._session, call_query, self._key, method, *args, **kwargs)

    def _look(self, name: str) -> Any:
        return call_beside(self._session, look_at_query, self._key, name)

    def _tell(self, calls: ListenerCalls) -> None:
        is_over = False
        while not is_over:
            time.sleep(_LISTENER_POLL)
            # Asked first: what happens after the answer is seen by the look that follows it.
            is_over = not self.isActive
            calls.look(self.checkpoints()["history"])


def start_remote(
    start: Callable[..., SupervisedQuery],
    writer: Any,
    arguments: Mapping[str, Any],
    listeners: Sequence[CheckpointListener],
) -> RemoteQuery:
    """Starts a query of a client.

    Args:
        start: :func:`snapline.start`, which is called beside the server.
        writer: a writer of Spark Connect.
        arguments: the others, without the listeners.

    Raises: as :func:`snapline.start`.
    """
    session = writer._session
    return RemoteQuery(session, call_beside(session, start_beside, start, writer, dict(arguments)), listeners)


def _progress(text: str) -> StreamingQueryProgress:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    return StreamingQueryProgress.fromJson(json.loads(text))
