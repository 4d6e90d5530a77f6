"""The Parquet folder of a state in a savepoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from snapline.folder.files import Files
from snapline.java_api import java_savepoints, translate
from snapline.savepoint.layout import OperatorLayout, StateKey
from snapline.savepoint.metadata import SavepointFile

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
) -> None:
    """Writes a state."""
    with translate(f"write state {key.name} of {operator.title}"):
        java_savepoints(session).writeParquet(table._jdf, f"{savepoint.location}/{key.folder}")


def count_rows(operators: Iterable[OperatorLayout], files: Iterable[tuple[SavepointFile, int]]) -> dict[str, int]:
    """By folder, how many rows each state has, of the files that were read back."""
    rows = {key.folder: 0 for operator in operators for key in operator.states}
    for file, count in files:
        folder = file.name.rpartition("/")[0]
        if folder in rows:
            rows[folder] += count
    return rows
