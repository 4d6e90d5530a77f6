"""State as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.java_api import is_connect, java_savepoints, translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The data source of the jar, which Scala and SQL use as well.
FORMAT = "snapline"


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
    The key of a map state is a struct of ``key`` and ``userKey``. A filter on the whole key is a look-up.

    Args:
        path: a checkpointLocation, of Snapline's state store or Spark's own ones, or a savepoint.
        operator: number, uid or name of the operator; None: the only one.
        state: name of the state; None: the only one, timers and the like apart.
        checkpoint: number of a checkpoint; None: the newest state that is whole.
        session: None: the active one.

    Raises:
        NotACheckpoint: the path is neither.
        StateNotFound: there is no such operator, state or checkpoint; the text has those that are there.
        IncompatibleState: the state was written under other settings.
    """
    session = session or active_session()
    if not is_connect(session):
        java_savepoints(session)
    options = {"path": path, "operator": operator, "state": state, "checkpoint": checkpoint}
    reader = session.read.format(FORMAT)
    for name, value in options.items():
        if value is not None:
            reader = reader.option(name, value)
    with translate(f"read the state of {path}"):
        frame = reader.load()
        # Spark Connect makes a plan when it is needed; what is wrong with this one is to be said here.
        _ = frame.schema
        return frame


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
