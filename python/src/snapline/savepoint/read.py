"""State as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.query.hadoop_files import HadoopFiles
from snapline.savepoint.layout import find_operator
from snapline.savepoint.metadata import METADATA, UNFINISHED, read_savepoint
from snapline.savepoint.state import find_state
from snapline.savepoint.tables import read_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_state(
    path: str,
    operator: int | str | None = None,
    state: str | None = None,
    *,
    checkpoint: int | None = None,
    session: SparkSession | None = None,
) -> DataFrame:
    """One state of a query, a row for each key: ``partition``, ``key_group``, ``key`` and ``value``.

    ``key`` and ``value`` are structs with the columns of the state; the value of a list state is an array of them.
    The key of a map state is a struct of ``key`` and ``userKey``.

    Args:
        path: a checkpointLocation, of Snapline's state store or Spark's own ones, or a savepoint.
        operator: number or name of the operator; None: the only one.
        state: name of the state; None: the only one.
        checkpoint: number of a checkpoint; None: the newest state that is whole.
        session: None: the active one.

    Raises:
        NotACheckpoint: the path is neither.
        StateNotFound: there is no such operator, state or checkpoint; the text has those that are there.
        IncompatibleState: the state was written under other settings.
    """
    session = session or active_session()
    files = HadoopFiles(session, path)
    if files.exists(METADATA) or files.exists(UNFINISHED):
        if checkpoint is not None:
            raise InvalidConfiguration("a savepoint has no numbered checkpoints.", "leave out checkpoint=.")
        return _of_savepoint(session, files, operator, state)
    found = find_state(session, files, checkpoint)
    layout = find_operator(found.operators, operator, path)
    return found.table(session, layout, layout.state(state))


def _of_savepoint(
    session: SparkSession, files: HadoopFiles, operator: int | str | None, state: str | None
) -> DataFrame:
    layout = find_operator(read_savepoint(files).operators, operator, files.location)
    return read_table(session, files, layout, layout.state(state))


def active_session() -> SparkSession:
    """
    Raises:
        InvalidConfiguration: there is none.
    """
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise InvalidConfiguration(
            "no Spark session is active.", "make one with snapline.configure(), or give session=."
        )
    return session
