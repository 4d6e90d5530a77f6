"""Takes savepoints."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from snapline._version import __version__
from snapline.errors import CheckpointDamaged, IncompatibleState, InvalidConfiguration
from snapline.folder.files import Files, side_by_side
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.unaligned import operators_that_wait, rows_wait
from snapline.java_api import java_savepoints
from snapline.remote.beside import runs_beside
from snapline.savepoint.later import warn_of_later_batches
from snapline.savepoint.metadata import (
    CANONICAL,
    METADATA,
    NATIVE,
    UNFINISHED,
    SavepointFile,
    SavepointMetadata,
    StoreVersion,
)
from snapline.savepoint.native import NativeState, check_native, copy_state
from snapline.savepoint.spark_files import PROVIDER, spark_files
from snapline.savepoint.state import CheckpointState, find_state
from snapline.savepoint.tables import count_rows, write_table
from snapline.savepoint.verify import check_there, data_files, read_back
from snapline.savepoint.watched import watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = "spark"

Progress = Callable[[str], None]

_log = logging.getLogger(__name__)


@runs_beside
def create_savepoint(
    session: SparkSession,
    checkpoint: str,
    to: str,
    *,
    number: int | None = None,
    format: str = CANONICAL,
    in_flight: bool = False,
    progress: Progress = _log.info,
) -> SavepointMetadata:
    """Writes the state of a query as Parquet, or as copies of its files, and all else that is needed to go on from it.

    The query may run meanwhile. Its state store may be Snapline's, or for Parquet one of Spark's own.

    Args:
        checkpoint: the query's checkpointLocation.
        to: a folder that does not exist, or is empty.
        number: the number of a checkpoint; None: the newest complete state.
        format: ``canonical``: Parquet; ``native``: the files of Snapline's state store as they are.
        in_flight: whether in-flight data of a query with unaligned checkpoints may be in it; ``native`` only. If not,
            state with such data is refused.
        progress: gets a text for each state that is written.

    Raises:
        NotACheckpoint: ``checkpoint`` is none.
        StateNotFound: there is no such state.
        IncompatibleState: a state cannot be kept as Parquet, or read with these settings; or it has no files of
            Snapline's that could be copied; or rows wait in it.
        InvalidConfiguration: ``to`` is not empty, there is no such format, or it has no place for rows that wait.
        StorageFailure: the file system refused.
    """
    check_format(format, in_flight)
    source, target = HadoopFiles(session, checkpoint), HadoopFiles(session, to)
    check_empty(target, "a savepoint")
    state = find_state(session, source.location, number)
    if number is None:
        warn_of_later_batches(source, state)
    if format == NATIVE:
        check_native(state)
    waiting = waiting_operators(source, state, in_flight=in_flight)
    query = read_query_id(source)
    target.write_new(UNFINISHED, b"")
    native: NativeState | None = None
    # Small files on a store that may be far away: they go while tasks write the state.
    with ThreadPoolExecutor(1) as beside:
        of_spark = beside.submit(
            side_by_side,
            lambda name: target.write_new(f"{SPARK}/{name}", source.read(name)),
            spark_files(source, state.operators, state.batch),
        )
        if format == NATIVE:
            with watched(session, "files of the state", progress):
                native = copy_state(session, state, target.location)
        for operator in state.operators if native is None else ():
            for key in operator.states:
                with watched(session, f"state {key.name} of {operator.title}", progress):
                    write_table(session, target, operator, key, state.table(session, operator, key))
        progress("Spark's own files")
        of_spark.result()
    progress("checksums")
    copied = () if native is None else native.files
    others = read_back(session, target, sorted(set(data_files(target)) - {file.name for file in copied}))
    metadata = metadata_of(
        session,
        state,
        query,
        format=format,
        rows=count_rows(state.operators, others) if native is None else native.rows,
        files=(*copied, *(file for file, _ in others)),
        backend=None if native is None else native.backend,
        stores=() if native is None else native.stores,
        in_flight=waiting,
    )
    # The others were read just now.
    if copied:
        check_there(target.location, target.lengths(""), copied)
    target.write_new(METADATA, metadata.to_bytes())
    target.delete(UNFINISHED)
    return metadata


def metadata_of(
    session: SparkSession,
    state: CheckpointState,
    query: str,
    *,
    format: str,
    rows: Mapping[str, int],
    files: tuple[SavepointFile, ...],
    backend: str | None,
    stores: tuple[StoreVersion, ...],
    in_flight: tuple[int, ...],
) -> SavepointMetadata:
    """The metadata of a savepoint of a state."""
    return SavepointMetadata(
        id=str(uuid.uuid4()),
        format=format,
        created=time.time_ns() // 1_000_000,
        query=query,
        batch=state.batch,
        checkpoint=state.checkpoint,
        offsets=state.offsets.text.decode(),
        commit=state.commit.text.decode(),
        planned=None if state.planned is None else state.planned.text.decode(),
        max_parallelism=java_savepoints(session).maxParallelism(session._jsparkSession),
        provider=state.offsets.metadata["conf"][PROVIDER],
        writer=__version__,
        spark=session.version,
        operators=state.operators,
        rows=rows,
        files=files,
        backend=backend,
        stores=stores,
        in_flight=in_flight,
    )


def waiting_operators(source: Files, state: CheckpointState, *, in_flight: bool) -> tuple[int, ...]:
    """Numbers of the operators in whose state rows wait.

    Args:
        in_flight: whether they may.

    Raises:
        IncompatibleState: rows wait, and may not; or the next batch has left some that it has not committed.
    """
    if not in_flight and rows_wait(source, state.batch):
        raise IncompatibleState(
            f"after batch {state.batch} of {source.location}, rows wait in the state of a keyed function.",
            "take the savepoint of the running query (query.savepoint), or its last one (query.stop_with_savepoint): "
            "before these all rows are processed. Or take the rows along (format='native', in_flight=True).",
        )
    if state.planned is not None and rows_wait(source, state.batch + 1):
        raise IncompatibleState(
            f"batch {state.batch + 1} of {source.location} was cut short before it was committed: its sink may have a "
            "part of its rows, and a query that goes on from a savepoint would not know which.",
            "start the query, so that it commits the batch, and stop it.",
        )
    return operators_that_wait(source, state.batch)


def check_new(session: SparkSession, to: str) -> None:
    """
    Raises:
        InvalidConfiguration: there is something in the folder a savepoint is to be written to.
    """
    check_empty(HadoopFiles(session, to), "a savepoint")


def check_format(format: str, in_flight: bool) -> None:
    """
    Raises:
        InvalidConfiguration: there is none of that name, or it has no room for rows that wait.
    """
    if format not in (CANONICAL, NATIVE):
        raise InvalidConfiguration(
            f"there are no savepoints of the format {format}.", f"choose {CANONICAL} (Parquet) or {NATIVE} (files)."
        )
    if in_flight and format != NATIVE:
        raise InvalidConfiguration(
            f"a {format} savepoint has no place for rows that wait.", f"choose format={NATIVE!r}, or leave in_flight."
        )


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
