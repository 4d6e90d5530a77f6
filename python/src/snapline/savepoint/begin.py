"""Begins a query's checkpoint folder with a savepoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.restored import read_restored
from snapline.java_api import session_with
from snapline.plan.logical_plan import WriterSettings
from snapline.savepoint.matching import OperatorMap
from snapline.savepoint.metadata import read_savepoint
from snapline.savepoint.planned import planned_query
from snapline.savepoint.restore import restore_savepoint

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# Spark's file sinks, which keep a log of their batches.
_FILE_SINKS = ("parquet", "orc", "json", "csv", "text")


def begin_from(
    writer: DataStreamWriter,
    location: str,
    savepoint: str,
    *,
    parallelism: int | None,
    path: str | None,
    settings: Mapping[str, str],
    operators: OperatorMap | None = None,
    allow_non_restored_state: bool = False,
) -> None:
    """Restores a savepoint into the writer's checkpoint folder; nothing, if that was done before.

    Args:
        operators: as for :func:`restore_savepoint`, and so is ``allow_non_restored_state``.
        path: where the writer's sink writes to, if ``start`` was told.
        settings: those of the query alone.

    Raises: as :func:`restore_savepoint`.
    """
    session = session_with(writer._df.sparkSession, settings)
    files = HadoopFiles(session, location)
    before = read_restored(files)
    metadata = read_savepoint(HadoopFiles(session, savepoint))
    if before is not None:
        if before.savepoint == metadata.id:
            return
        raise InvalidConfiguration(
            f"{location} was begun with the savepoint {before.source}, not with {savepoint}.",
            "give this query a checkpoint folder of its own, or leave out from_savepoint=.",
        )
    sink = WriterSettings.of(writer)
    output = path or sink.options.get("path")
    file_sink = output if sink.format.lower() in _FILE_SINKS else None
    with planned_query(session, writer, metadata, parallelism) as planned:
        restore_savepoint(
            session,
            savepoint,
            location,
            parallelism=parallelism,
            file_sink=file_sink,
            operators=operators,
            allow_non_restored_state=allow_non_restored_state,
            planned=planned,
        )
