"""Takes savepoints."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from snapline._version import __version__
from snapline.errors import CheckpointDamaged, IncompatibleState, InvalidConfiguration
from snapline.query.files import Files
from snapline.query.hadoop_files import HadoopFiles
from snapline.query.unaligned import rows_wait
from snapline.savepoint.java_api import java_savepoints
from snapline.savepoint.metadata import CANONICAL, METADATA, UNFINISHED, SavepointMetadata
from snapline.savepoint.spark_files import spark_files
from snapline.savepoint.state import find_state
from snapline.savepoint.tables import write_table
from snapline.savepoint.verify import data_files, spark_checksums
from snapline.savepoint.watched import watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = "spark"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"

Progress = Callable[[str], None]

_log = logging.getLogger(__name__)


def create_savepoint(
    session: SparkSession,
    checkpoint: str,
    to: str,
    *,
    number: int | None = None,
    progress: Progress = _log.info,
) -> SavepointMetadata:
    """Writes the state of a query as Parquet, and all else that is needed to go on from it.

    The query may run meanwhile. Its state store may be Snapline's, or one of Spark's own.

    Args:
        checkpoint: the query's checkpointLocation.
        to: a folder that does not exist, or is empty.
        number: of a numbered checkpoint; None: the newest state that is whole.
        progress: told what is written.

    Raises:
        NotACheckpoint: ``checkpoint`` is none.
        StateNotFound: there is no such state.
        IncompatibleState: a state cannot be kept as Parquet, or read with these settings.
        InvalidConfiguration: ``to`` is not empty.
        StorageFailure: the file system refused.
    """
    source, target = HadoopFiles(session, checkpoint), HadoopFiles(session, to)
    check_empty(target, "a savepoint")
    state = find_state(session, source.location, number)
    if rows_wait(source, state.batch):
        raise IncompatibleState(
            f"after batch {state.batch} of {checkpoint}, rows wait in the state of a keyed function.",
            "take the savepoint of the running query (query.savepoint), or its last one (query.stop_with_savepoint): "
            "before these all rows are processed.",
        )
    query = read_query_id(source)
    target.write_new(UNFINISHED, b"")
    rows = {}
    for operator in state.operators:
        for key in operator.states:
            with watched(session, f"state {key.name} of {operator.title}", progress):
                rows[key.folder] = write_table(session, target, operator, key, state.table(session, operator, key))
    progress("Spark's own files")
    for name in spark_files(source, state.operators, state.batch):
        target.write_new(f"{SPARK}/{name}", source.read(name))
    progress("checksums")
    metadata = SavepointMetadata(
        id=str(uuid.uuid4()),
        format=CANONICAL,
        created=time.time_ns() // 1_000_000,
        query=query,
        batch=state.batch,
        checkpoint=state.checkpoint,
        offsets=state.offsets.text.decode(),
        commit=state.commit.text.decode(),
        planned=None if state.planned is None else state.planned.text.decode(),
        max_parallelism=java_savepoints(session).maxParallelism(session._jsparkSession),
        provider=state.offsets.metadata["conf"][_PROVIDER],
        writer=__version__,
        spark=session.version,
        operators=state.operators,
        rows=rows,
        files=tuple(spark_checksums(session, target)(data_files(target))),
    )
    target.write_new(METADATA, metadata.to_bytes())
    target.delete(UNFINISHED)
    return metadata


def check_new(session: SparkSession, to: str) -> None:
    """
    Raises:
        InvalidConfiguration: there is something in the folder a savepoint is to be written to.
    """
    check_empty(HadoopFiles(session, to), "a savepoint")


def check_empty(files: Files, what: str) -> None:
    """
    Raises:
        InvalidConfiguration: there is something in the folder.
    """
    there = files.list("")
    if there == ["metadata"] and b'"restoring"' in files.read("metadata"):
        raise InvalidConfiguration(
            f"{files.location} has what is left of a restore that was cut short.",
            "remove the folder, and restore again.",
        )
    if there:
        raise InvalidConfiguration(
            f"{files.location} is not empty: it has {', '.join(there[:5])}.", f"give {what} a folder of its own."
        )


def read_query_id(files: Files) -> str:
    """
    Raises:
        CheckpointDamaged: it cannot be read.
    """
    try:
        return str(json.loads(files.read("metadata"))["id"])
    except (ValueError, KeyError, TypeError):
        raise CheckpointDamaged(
            f"{files.location}/metadata, which Spark wrote, cannot be read.", "restore it from a backup."
        ) from None
