"""Which batches the sink has by its own account: the log that Spark's file sink keeps beside its files, or Delta's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from snapline.folder.delta_log import DeltaLog
from snapline.folder.files import Files
from snapline.folder.hadoop_files import HadoopFiles
from snapline.plan.logical_plan import WriterSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOG = "_spark_metadata"
_COMPACT = ".compact"
# In a checkpoint folder; Spark's.
_QUERY = "metadata"
# A folder may be named in their options; they write no such log.
_WITHOUT = {"foreach", "foreachbatch", "noop", "console", "memory"}


class SinkLog:
    """Reads only. None but these two leave one: of other sinks nothing is known."""

    def __init__(self, files: Files | None, checkpoint: Files) -> None:
        """``files``: the folder the sink writes to; None if there is none. ``checkpoint``: the query's own."""
        self._files = files
        self._checkpoint = checkpoint

    @classmethod
    def of(cls, writer: DataStreamWriter, path: str | None, table: str | None, checkpoint: Files) -> SinkLog:
        """``path`` and ``table`` as the query is started with."""
        session, settings = writer._df.sparkSession, WriterSettings.of(writer)
        folder = _location(session, table) if table is not None else path or settings.options.get("path")
        known = folder is not None and settings.format.lower() not in _WITHOUT
        return cls(HadoopFiles(session, folder) if known and folder is not None else None, checkpoint)

    def has(self, batch: int) -> bool:
        """Whether the sink has this batch, and so passes over it without running it.

        (FileStreamSink.addBatch; Delta's sink by its own notes.)
        """
        if self._files is None:
            return False
        names = (name.removesuffix(_COMPACT) for name in self._files.list(_LOG))
        if any(name.isascii() and name.isdigit() and int(name) >= batch for name in names):
            return True
        newest = DeltaLog(self._files).newest_batch(self._query()) if self._checkpoint.exists(_QUERY) else None
        return newest is not None and newest >= batch

    def _query(self) -> str:
        return str(json.loads(self._checkpoint.read(_QUERY))["id"])


def _location(session: SparkSession, table: str) -> str | None:
    """Where the files of a table are; None: it is not there yet, or its catalog is not Spark's own."""
    from pyspark.errors import AnalysisException

    state: Any = session._jsparkSession.sessionState()
    try:
        found = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(table))
        return str(found.location().toString())
    except AnalysisException:
        return None
