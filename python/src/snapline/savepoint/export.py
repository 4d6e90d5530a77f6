"""Savepoints as checkpoints of Spark's own state store."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from snapline.remote.beside import runs_beside
from snapline.savepoint.create import Progress
from snapline.savepoint.foreign import provider_class
from snapline.savepoint.matching import OperatorMap
from snapline.savepoint.metadata import SavepointMetadata
from snapline.savepoint.restore import restore_savepoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)


@runs_beside
def export_savepoint(
    session: SparkSession,
    savepoint: str,
    to: str,
    *,
    provider: str = "rocksdb",
    parallelism: int | None = None,
    keep_query_id: bool = False,
    file_sink: str | None = None,
    operators: OperatorMap | None = None,
    allow_non_restored_state: bool = False,
    progress: Progress = _log.info,
) -> SavepointMetadata:
    """Writes a checkpoint folder that Spark goes on from without Snapline, on its own state store.

    Args:
        provider: ``rocksdb``. The session's ``spark.sql.streaming.stateStore.rocksdb.`` settings count.

    The other arguments are those of :func:`restore_savepoint`.

    Raises:
        IncompatibleState: an operator is one of Snapline's, which Spark does not have.
        InvalidConfiguration: the provider cannot be written.

    Else as :func:`restore_savepoint`.
    """
    return restore_savepoint(
        session,
        savepoint,
        to,
        parallelism=parallelism,
        keep_query_id=keep_query_id,
        file_sink=file_sink,
        operators=operators,
        allow_non_restored_state=allow_non_restored_state,
        provider=provider_class(provider),
        progress=progress,
    )
