"""Runs batches again for their state alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from snapline.folder.file_input import FileInput
from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import frame_with
from snapline.plan.logical_plan import WriterSettings
from snapline.recovery.lost_input import files_are_lost, input_is_lost
from snapline.recovery.recovery import Recovery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_log = logging.getLogger(__name__)


class ReplayStopped(Exception):
    """The query was stopped while a batch of it was run again. The next start goes on with that batch."""


class BatchReplay:
    """One batch at a time, as the logs have it, into a sink that keeps nothing.

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
        settings: Mapping[str, str],
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
        self._own: DataFrame | None = None
        self._query: StreamingQuery | None = None
        self._stopped = False

    def stop(self) -> None:
        """Ends the batch that is run, and every later one at its start. From any thread: the function may never come
        back by itself."""
        self._stopped = True
        query = self._query
        if query is not None:
            query.stop()

    def begin(self) -> None:
        """Before the first batch of a recovery: what the session is set to by now counts."""
        self.rows.clear()
        self._own = None

    def __call__(self, batch: int) -> None:
        """
        Raises:
            StateNotFound: its input is gone.
            StreamingQueryException: it failed otherwise.
            ReplayStopped: by :meth:`stop`.
        """
        self._check_going_on(batch)
        missing = self._input.missing(batch)
        if missing:
            lost = files_are_lost(batch, missing)
            if not self._forced:
                raise lost
            _log.warning("%s", lost)
        journal = self._recovery.pending()
        self._driver.replay(journal is None or batch <= journal.committed)
        if self._own is None:
            self._own = frame_with(self._df, self._settings)
        writer = (
            self._own.writeStream.format("noop")
            .outputMode(self._mode)
            .option("checkpointLocation", self._location)
            .trigger(once=True)
        )
        query = self._query = writer.start()
        try:
            # One who stopped it before now has not seen the query.
            if not self._stopped:
                query.awaitTermination()
            self.rows[batch] = sum(progress.numInputRows for progress in query.recentProgress)
        except Exception as e:
            if self._stopped:
                raise ReplayStopped(f"batch {batch} was being run again.") from e
            expired = input_is_lost(batch, e)
            if expired is None:
                raise
            raise expired from e
        finally:
            self._query = None
            query.stop()
        self._check_going_on(batch)

    def _check_going_on(self, batch: int) -> None:
        if self._stopped:
            raise ReplayStopped(f"batch {batch} was to be run again.")
