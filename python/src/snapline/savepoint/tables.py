"""The Parquet folder of a state in a savepoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapline.query.files import Files
from snapline.savepoint.java_api import java_savepoints, translate
from snapline.savepoint.layout import OperatorLayout, StateKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(session: SparkSession, savepoint: Files, operator: OperatorLayout, key: StateKey) -> DataFrame:
    """A state, with its columns checked.

    Raises:
        IncompatibleState: it has other columns.
    """
    from pyspark.sql import DataFrame

    with translate(f"read state {key.name} of {operator.title}"):
        java = java_savepoints(session).readParquet(
            session._jsparkSession, savepoint.location, operator.text, key.store, key.family
        )
    return DataFrame(java, session)


def empty_table(session: SparkSession, operator: OperatorLayout, key: StateKey) -> DataFrame:
    """A state without entries."""
    from pyspark.sql import DataFrame

    with translate(f"make state {key.name} of {operator.title}"):
        java = java_savepoints(session).empty(session._jsparkSession, operator.text, key.store, key.family)
    return DataFrame(java, session)


def write_table(
    session: SparkSession, savepoint: Files, operator: OperatorLayout, key: StateKey, table: DataFrame
) -> int:
    """Writes a state; returns how many rows are there when they are read back."""
    folder = f"{savepoint.location}/{key.folder}"
    with translate(f"write state {key.name} of {operator.title}"):
        java_savepoints(session).writeParquet(table._jdf, folder)
        return session.read.schema(table.schema).parquet(folder).count()
