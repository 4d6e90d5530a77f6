"""Begins a checkpoint folder of another one, at another parallelism, without a savepoint in between."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from snapline.folder.hadoop_files import HadoopFiles
from snapline.remote.beside import runs_beside
from snapline.savepoint.create import SPARK, Progress, metadata_of, read_query_id, waiting_operators
from snapline.savepoint.later import warn_of_later_batches
from snapline.savepoint.metadata import NATIVE, SavepointFile, SavepointMetadata
from snapline.savepoint.native import check_native, stores_of
from snapline.savepoint.restore import begin_checkpoint
from snapline.savepoint.spark_files import spark_files
from snapline.savepoint.state import find_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)


@runs_beside
def rescale_checkpoint(
    session: SparkSession,
    checkpoint: str,
    to: str,
    *,
    parallelism: int,
    number: int | None = None,
    keep_query_id: bool = False,
    file_sink: str | None = None,
    progress: Progress = _log.info,
) -> SavepointMetadata:
    """Writes a checkpoint folder that a query goes on from at another parallelism, as if it had written it.

    It comes to the same as a savepoint that is restored at once. The old folder stays as it is.

    Args:
        checkpoint: the query's checkpointLocation, of Snapline's state store.
        to: the new one: a folder that does not exist, or is empty.
        parallelism: number of partitions of the state there.
        number: the number of a checkpoint; None: the newest complete state.
        keep_query_id: see :func:`restore_savepoint`, which has ``file_sink`` too.
        progress: gets a text for each step.

    Returns:
        The metadata that a native savepoint of the state would have, without its files.

    Raises:
        NotACheckpoint: ``checkpoint`` is none.
        StateNotFound: there is no such state.
        CheckpointDamaged: a file of it is damaged, and none stands in for it.
        IncompatibleState: another state store has written it, or an operator cannot be given that parallelism.
        InvalidConfiguration: ``to`` is not empty, or the parallelism is out of range.
    """
    source, target = _AsSavepoint(session, checkpoint), HadoopFiles(session, to)
    state = find_state(session, source.location, number)
    if number is None:
        warn_of_later_batches(source, state)
    check_native(state)
    waiting = waiting_operators(source, state, in_flight=True)
    names = spark_files(source, state.operators, state.batch)
    metadata = metadata_of(
        session,
        state,
        read_query_id(source),
        format=NATIVE,
        rows={},
        files=tuple(SavepointFile(f"{SPARK}/{name}", 0, 0) for name in names),
        backend=None,
        stores=stores_of(state),
        in_flight=waiting,
    )
    begun = False

    def begin() -> None:
        nonlocal begun
        begun = True

    try:
        begin_checkpoint(
            session,
            source,
            metadata,
            to,
            begin,
            parallelism=parallelism,
            keep_query_id=keep_query_id,
            file_sink=file_sink,
            progress=progress,
        )
    except BaseException:
        # Damage shows only when the state is read. The folder was empty.
        for name in target.list("") if begun else ():
            target.delete(name)
        raise
    return metadata


class _AsSavepoint(HadoopFiles):
    """A checkpoint folder whose files of Spark's go by the names that a savepoint has for them, too."""

    def read(self, name: str) -> bytes:
        return super().read(name.removeprefix(f"{SPARK}/"))
