"""Runs batches again for their state alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapline.folder.file_input import FileInput
from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import frame_with, java_session_internals
from snapline.plan.logical_plan import WriterSettings
from snapline.recovery.lost_input import files_are_lost, input_is_lost
from snapline.recovery.recovery import Recovery

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_log = logging.getLogger(__name__)


class ReplayStopped(Exception):
    """The query was stopped while its state was recovered, or while a batch was run to its end. The next start goes on
    there."""


class BatchReplay:
    """One batch at a time, as the logs have it, into a sink that keeps nothing. One run of Spark for each recovery.

    Replays run in a session of their own, like the query's: settings that are for them count for no other query, and
    neither listeners nor ``awaitAnyTermination`` of the query's session hear of them.

    Attributes:
        rows: how many input rows each batch had that was run since this last began.
    """

    def __init__(
        self,
        writer: DataStreamWriter,
        files: HadoopFiles,
        location: str,
        driver: Any,
        recovery: Recovery,
        *,
        settings: Mapping[str, str | None],
        forced: bool,
    ) -> None:
        self._df = writer._df
        self._mode = WriterSettings.of(writer).output_mode
        self._input = FileInput(files)
        self._location = location
        self._driver = driver
        self._recovery = recovery
        self._settings = settings
        self._forced = forced
        self.rows: dict[int, int] = {}
        self._run: Any = None
        self._stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """Ends the batch that is run, and every later one at its start. From any thread: the function may never come
        back by itself."""
        self._stopped = True
        run = self._run
        if run is not None:
            run.stop()

    @contextmanager
    def recovering(self) -> Iterator[None]:
        """Around the batches of one recovery. The session's settings at the first of them count."""
        self.rows.clear()
        try:
            yield
        finally:
            self._input.forget()
            self._end()

    def __call__(self, batch: int) -> None:
        """
        Raises:
            StateNotFound: its input is gone.
            StreamingQueryException: it failed otherwise.
            ReplayStopped: by :meth:`stop`.
        """
        self.check_going_on(f"batch {batch} was to be run again")
        missing = self._input.missing(batch)
        if missing:
            lost = files_are_lost(batch, missing)
            if not self._forced:
                raise lost
            _log.warning("%s", lost)
        journal = self._recovery.pending()
        self._driver.replay(journal is None or batch <= journal.committed)
        if self._run is None:
            self._run = self._start()
        try:
            # One who stopped it before now has not seen the run.
            if not self._stopped:
                self.rows[batch] = self._run.replay(batch)
        except Exception as e:
            if self._stopped:
                raise ReplayStopped(f"batch {batch} was being run again.") from e
            expired = input_is_lost(batch, e)
            if expired is None:
                raise
            raise expired from e
        self.check_going_on(f"batch {batch} was being run again")

    def _start(self) -> Any:
        own = frame_with(self._df, self._settings)
        return java_session_internals(own.sparkSession).startReplay(own._jdf, self._mode, self._location)

    def _end(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.stop()

    def check_going_on(self, under_way: str) -> None:
        """
        Raises:
            ReplayStopped: by :meth:`stop`.
        """
        if self._stopped:
            raise ReplayStopped(f"{under_way}.")
