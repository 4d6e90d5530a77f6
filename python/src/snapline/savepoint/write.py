"""Writes savepoints of tables: state that was edited, or seeded."""

from __future__ import annotations

import dataclasses
import logging
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from snapline._version import __version__
from snapline.errors import IncompatibleState
from snapline.folder.files import side_by_side
from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import java_savepoints, translate
from snapline.remote.beside import runs_beside
from snapline.savepoint.create import SPARK, Progress, check_empty
from snapline.savepoint.layout import OperatorLayout, StateKey, find_operator
from snapline.savepoint.metadata import CANONICAL, METADATA, UNFINISHED, SavepointMetadata, read_savepoint
from snapline.savepoint.tables import count_rows, write_table
from snapline.savepoint.verify import data_files, read_back, spark_checksums, verify_savepoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger(__name__)


@runs_beside
def write_savepoint(
    like: str,
    to: str,
    states: Mapping[tuple[int | str | None, str | None], DataFrame],
    *,
    session: SparkSession | None = None,
    progress: Progress = _log.info,
) -> SavepointMetadata:
    """Writes a savepoint that has some states of its own, and all else of another one.

    Args:
        like: a savepoint of the query.
        to: a folder that does not exist, or is empty.
        states: by operator and state (each as for :func:`read_state`), a table with the columns ``key`` and ``value``
            of that state; others are passed over. It stands for the whole state.
        progress: told what is written.

    Raises:
        StateNotFound: there is no such state.
        IncompatibleState: a table has other columns, a key twice, or a row without a key or a value; or rows wait in
            the state of ``like``.
        CheckpointDamaged: a file of ``like`` is missing or has changed.
        InvalidConfiguration: ``to`` is not empty.
    """
    from snapline.savepoint.read import active_session, read_state

    if session is None:
        return write_savepoint(like, to, states, session=active_session(), progress=progress)
    source, target = HadoopFiles(session, like), HadoopFiles(session, to)
    metadata = read_savepoint(source)
    check_empty(target, "a savepoint")
    if metadata.in_flight:
        raise IncompatibleState(
            f"rows wait in the state of {like}, and tables have no place for them.",
            "take a savepoint that is not in_flight: before that all rows are processed.",
        )
    verify_savepoint(source, metadata, spark_checksums(session, source))
    written: dict[StateKey, DataFrame] = {}
    for (operator, state), table in states.items():
        layout = find_operator(metadata.operators, operator, like)
        key = layout.state(state)
        written[key] = _checked(session, layout, key, table)
    target.write_new(UNFINISHED, b"")
    for layout in metadata.operators:
        for key in layout.states:
            progress(f"state {key.name} of {layout.title}")
            table = written[key] if key in written else read_state(like, layout.id, key.name, session=session)
            write_table(session, target, layout, key, table)
    of_spark = [file.name for file in metadata.files if file.name.startswith(f"{SPARK}/")]
    side_by_side(lambda name: target.write_new(name, source.read(name)), of_spark)
    files = read_back(session, target, data_files(target))
    made = dataclasses.replace(
        metadata,
        id=str(uuid.uuid4()),
        format=CANONICAL,
        created=time.time_ns() // 1_000_000,
        writer=__version__,
        spark=session.version,
        rows=count_rows(metadata.operators, files),
        files=tuple(file for file, _ in files),
        backend=None,
        stores=(),
    )
    target.write_new(METADATA, made.to_bytes())
    target.delete(UNFINISHED)
    return made


def _checked(session: SparkSession, operator: OperatorLayout, key: StateKey, table: DataFrame) -> DataFrame:
    """With each row in its place."""
    from pyspark.sql import DataFrame

    missing = {"key", "value"} - set(table.columns)
    if missing:
        raise IncompatibleState(
            f"the table for state {key.name} of {operator.title} has no column {' and '.join(sorted(missing))}.",
            "give it the columns key and value, as read_state has them.",
        )
    with translate(f"place the rows of state {key.name} of {operator.title}"):
        java = java_savepoints(session).place(table.select("key", "value")._jdf, operator.text, key.store, key.family)
        placed = DataFrame(java, session)
        twice = placed.groupBy("partition", "key").count().where("count > 1").head()
    if twice is not None:
        raise IncompatibleState(
            f"the table for state {key.name} of {operator.title} has the key {twice['key']} {twice['count']} times.",
            "give each key once.",
        )
    return placed
