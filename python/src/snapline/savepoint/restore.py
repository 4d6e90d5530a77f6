"""Begins a checkpoint folder from a savepoint, at any parallelism."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from snapline.errors import CheckpointDamaged, IncompatibleState, InvalidConfiguration
from snapline.folder.end_of_time import is_drained
from snapline.folder.files import Files, side_by_side
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.logs import COMMITS, OFFSETS
from snapline.folder.restored import Restored, Waiting
from snapline.folder.unaligned import UNALIGNED_MARK
from snapline.java_api import java_savepoints, translate
from snapline.remote.beside import runs_beside
from snapline.savepoint.create import SPARK, Progress, check_empty
from snapline.savepoint.file_sink import prepare_file_sink
from snapline.savepoint.foreign import check_export
from snapline.savepoint.matching import OperatorMap, RestoredOperator, match_by_hand, match_operators
from snapline.savepoint.metadata import NATIVE, SavepointMetadata, read_savepoint
from snapline.savepoint.native import restore_state
from snapline.savepoint.parallelism import check_parallelism, check_waiting
from snapline.savepoint.planned import PlannedQuery
from snapline.savepoint.spark_files import (
    PARTITIONS,
    PROVIDER,
    SNAPLINE,
    moved_commit,
    moved_file,
    moved_offsets,
    operator_of,
)
from snapline.savepoint.tables import empty_table, read_table
from snapline.savepoint.verify import spark_checksums, verify_savepoint
from snapline.savepoint.watched import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_QUERY = "metadata"

_log = logging.getLogger(__name__)


@runs_beside
def restore_savepoint(
    session: SparkSession,
    savepoint: str,
    to: str,
    *,
    parallelism: int | None = None,
    keep_query_id: bool = False,
    file_sink: str | None = None,
    operators: OperatorMap | None = None,
    allow_non_restored_state: bool = False,
    planned: PlannedQuery | None = None,
    provider: str = SNAPLINE,
    progress: Progress = _log.info,
) -> SavepointMetadata:
    """Writes a checkpoint folder that a query goes on from as if it had written it, on Snapline's state store.

    The batches go on with the savepoint's number. The savepoint is not needed any more afterwards.

    Args:
        to: the new checkpointLocation: a folder that does not exist, or is empty.
        parallelism: number of partitions of the state; None: as many as it had.
        keep_query_id: the query goes on under its old id, and the old one must never run again. Else it is a clone,
            with an id of its own: to a sink that knows queries by their id, it is another one.
        file_sink: output folder of the file sink that the query will write to, to make it ready for batches that do
            not begin with 0.
        operators: from an operator of the savepoint (number or uid) to one of the query, for those that are not found
            by themselves; to None: its state is left out.
        allow_non_restored_state: state that no operator of the query has is left out, and not refused.
        planned: the query that will go on, as ``snapline.start`` knows it: its operators get the state of those with
            the same uid, or else of the same kind and columns; new ones begin empty. None: each operator has the number
            it had, or the one that ``operators`` gives it.
        provider: class of the state store to write; as for :func:`export_savepoint`.
        progress: told what is done.

    Raises:
        NotACheckpoint: ``savepoint`` is none.
        CheckpointDamaged: a file of it is missing or has changed.
        UnsupportedVersion: it is of a later version.
        IncompatibleState: an operator cannot be given that parallelism, a state has other columns, or query and
            savepoint have other operators; all are named.
        InvalidConfiguration: ``to`` is not empty, or the parallelism is out of range.
        StorageFailure: the file system refused, or a file that was copied is not there any more.
    """
    source = HadoopFiles(session, savepoint)
    metadata = read_savepoint(source)

    def verify() -> None:
        progress("verifying the savepoint")
        verify_savepoint(source, metadata, spark_checksums(session, source))

    begin_checkpoint(
        session,
        source,
        metadata,
        to,
        verify,
        parallelism=parallelism,
        keep_query_id=keep_query_id,
        file_sink=file_sink,
        operators=operators,
        allow_non_restored_state=allow_non_restored_state,
        planned=planned,
        provider=provider,
        progress=progress,
    )
    return metadata


def begin_checkpoint(
    session: SparkSession,
    source: Files,
    metadata: SavepointMetadata,
    to: str,
    verify: Callable[[], None],
    *,
    parallelism: int | None,
    keep_query_id: bool,
    file_sink: str | None,
    operators: OperatorMap | None = None,
    allow_non_restored_state: bool = False,
    planned: PlannedQuery | None = None,
    provider: str = SNAPLINE,
    progress: Progress,
) -> None:
    """Writes a checkpoint folder, as :func:`restore_savepoint` does.

    Args:
        source: has what ``metadata`` speaks of under the names that a savepoint has for it.
        verify: called before anything is written.
    """
    target = HadoopFiles(session, to)
    wanted = metadata.parallelism if parallelism is None else parallelism
    if planned is None:
        restored = match_by_hand(metadata.operators, operators or {}, allow_non_restored_state)
    else:
        restored = match_operators(metadata.operators, planned.operators, operators or {}, allow_non_restored_state)
    check_parallelism(session, metadata, parallelism, restored)
    waiting = check_waiting(metadata, parallelism, restored)
    check_empty(target, "the restored query")
    if keep_query_id and any(query.id == metadata.query for query in session.streams.active):
        raise InvalidConfiguration(
            f"the query {metadata.query} is running, and two of one id stop each other.",
            "stop it first, or restore a clone (without --keep-query-id).",
        )
    check_not_drained(metadata, source.location)
    is_native = metadata.format == NATIVE
    if provider != SNAPLINE:
        check_export(metadata, restored, provider)
    verify()
    tables = {operator.id: _tables(session, source, operator) for operator in restored if not is_native}
    if file_sink is not None:
        prepare_file_sink(session, file_sink, metadata.batch)
    # Until the end Spark cannot read this file, and refuses the folder.
    mark = json.dumps({"restoring": metadata.id, "from": source.location})
    target.write_new(_QUERY, mark.encode())
    _copy_spark_files(source, target, metadata, restored, planned, parallelism)
    changed = {PARTITIONS: str(wanted), PROVIDER: provider}
    offsets = moved_offsets(metadata.offsets, changed)
    settings = offsets.decode().split("\n")[1]
    # Snapline's stores always say which attempt they made; Spark's only where the commits name it.
    names = 2 if provider == SNAPLINE or metadata.commit_entry.state_ids else 1
    uids: dict[str, list[list[str]]] = {}
    if is_native:
        with watched(session, "files of the state", progress):
            uids = restore_state(
                session,
                source.location,
                target,
                metadata,
                settings=settings,
                restored=restored,
                parallelism=parallelism,
            )
    for operator in restored if not is_native else ():
        partitions = operator.partitions(parallelism)
        with watched(session, f"{operator.title}, {partitions} partitions", progress):
            written = _write(
                session,
                target,
                metadata.batch,
                settings,
                names,
                restored=operator,
                partitions=partitions,
                tables=tables,
            )
        uids[str(operator.id)] = written
    if metadata.batch > 0:
        # Spark wants the entry before the newest as well; all it takes from it is replaced by the newest.
        target.write_new(f"{OFFSETS}/{metadata.batch - 1}", offsets)
    target.write_new(f"{OFFSETS}/{metadata.batch}", offsets)
    if metadata.planned is not None:
        target.write_new(f"{OFFSETS}/{metadata.batch + 1}", moved_offsets(metadata.planned, changed))
    target.write_new(f"{COMMITS}/{metadata.batch}", moved_commit(metadata.commit, uids))
    if waiting:
        target.write_new(UNALIGNED_MARK, b"")
    if provider == SNAPLINE:
        Restored(metadata.id, source.location, Waiting(metadata.batch, waiting) if waiting else None).write(target)
    query = metadata.query if keep_query_id else str(uuid.uuid4())
    target.delete(_QUERY)
    target.write_new(_QUERY, json.dumps({"id": query}, separators=(",", ":")).encode())


def check_not_drained(metadata: SavepointMetadata, location: str) -> None:
    """
    Raises:
        IncompatibleState: the savepoint is of a query that was drained, or that was to run the last batch of a drain.
    """
    planned = metadata.planned_entry
    if is_drained(metadata.commit_entry) or (planned is not None and is_drained(planned)):
        raise IncompatibleState(
            f"the savepoint {location} is of a query that was drained: every row would be late.",
            "read it as tables; to go on, take a savepoint that is not drained.",
        )


def _tables(session: SparkSession, source: Files, operator: RestoredOperator) -> dict[str, list[DataFrame]]:
    """By store, the tables of its states, with their columns checked."""
    found: dict[str, list[DataFrame]] = {}
    for key in operator.layout.states:
        table = (
            empty_table(session, operator.layout, key)
            if operator.old is None
            else read_table(session, source, operator.old, key)
        )
        found.setdefault(key.store, []).append(table)
    return found


def _copy_spark_files(
    source: Files,
    target: Files,
    metadata: SavepointMetadata,
    restored: Sequence[RestoredOperator],
    planned: PlannedQuery | None,
    wanted: int | None,
) -> None:
    there = {file.name.removeprefix(f"{SPARK}/") for file in metadata.files if file.name.startswith(f"{SPARK}/")}
    of_query = sorted(name for name in there if operator_of(name) is None)
    side_by_side(lambda name: target.write_new(name, source.read(f"{SPARK}/{name}")), of_query)
    for operator in restored:
        if operator.old is not None:
            texts = {name: source.read(f"{SPARK}/{name}") for name in there if operator_of(name) == operator.old.id}
        else:
            texts = {} if planned is None else planned.spark_files(operator.layout)
        for name, text in texts.items():
            partitions = operator.partitions(wanted)
            moved = moved_file(
                name,
                text,
                target.location,
                metadata.batch,
                number=operator.id,
                uid=operator.uid,
                parallelism=partitions,
            )
            target.write_new(*moved)


def _write(
    session: SparkSession,
    target: Files,
    batch: int,
    settings: str,
    names: int,
    *,
    restored: RestoredOperator,
    partitions: int,
    tables: dict[int, dict[str, list[DataFrame]]],
) -> list[list[str]]:
    """Writes the operator's stores; the uids of what was written, by partition, in the order of a commit."""
    written: dict[str, list[str]] = {}
    operator = restored.layout.renumbered(restored.id)
    for store in operator.stores:
        with translate(f"write store {store} of {operator.title}"):
            java = [table._jdf for table in tables[operator.id][store]]
            uids = java_savepoints(session).write(
                session._jsparkSession,
                target.location,
                batch + 1,
                settings,
                operator.text,
                store,
                partitions,
                names,
                java,
            )
            written[store] = [str(uid) for uid in uids]
        if len(written[store]) != partitions:
            raise CheckpointDamaged(f"store {store} of {operator.title} was not written whole.", "restore again.")
    return [[written[store][partition] for store in operator.stores_in_commits] for partition in range(partitions)]
