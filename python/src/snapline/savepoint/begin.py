"""Begins a query's checkpoint folder with a savepoint."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration, NotACheckpoint, StateNotFound, StorageFailure, hide_passwords
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.restored import Restored, read_restored
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

_log = logging.getLogger(__name__)


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

    Raises: as :func:`restore_savepoint`. A savepoint that was restored before need not be there any more.
    """
    session = session_with(writer._df.sparkSession, settings)
    files = HadoopFiles(session, location)
    before = read_restored(files)
    source = HadoopFiles(session, savepoint)
    if before is not None:
        _check_same(before, source, location)
        return
    metadata = read_savepoint(source)
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


def _check_same(before: Restored, source: HadoopFiles, location: str) -> None:
    """The folder was begun already. The savepoint may be gone, or out of reach; its place says then which it was.

    Raises:
        InvalidConfiguration: it was another one.
    """
    try:
        is_same = before.savepoint == read_savepoint(source).id
    except (NotACheckpoint, StateNotFound, StorageFailure) as e:
        is_same = before.source == hide_passwords(source.location)
        if is_same:
            _log.info("The savepoint that %s was begun with is not needed any more, nor is it there: %s", location, e)
    if not is_same:
        raise InvalidConfiguration(
            f"{location} was begun with the savepoint {before.source}, not with {hide_passwords(source.location)}.",
            "give this query a checkpoint folder of its own, or leave out from_savepoint=.",
        )
