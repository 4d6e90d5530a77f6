"""The stateful operators of a query that has not started yet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snapline.folder.files import Files, LocalFiles
from snapline.folder.logs import OFFSETS
from snapline.java_api import java_savepoints
from snapline.plan.logical_plan import field_of
from snapline.savepoint.layout import OperatorLayout, parse_operators
from snapline.savepoint.metadata import SavepointMetadata
from snapline.savepoint.spark_files import PARTITIONS, PROVIDER, SNAPLINE, moved_offsets, spark_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True)
class PlannedQuery:
    """The files that Spark writes about a query when it plans its first batch.

    Attributes:
        files: the folder that it was told to write to, which is gone when the query has been restored.
    """

    operators: tuple[OperatorLayout, ...]
    files: Files

    def spark_files(self, operator: OperatorLayout) -> dict[str, bytes]:
        """The files that Spark wrote about an operator, by names relative to the folder."""
        return {name: self.files.read(name) for name in spark_files(self.files, (operator,), 0)}


@contextmanager
def planned_query(
    session: SparkSession, writer: DataStreamWriter, savepoint: SavepointMetadata, parallelism: int | None
) -> Iterator[PlannedQuery]:
    """Plans a query under the settings that it will go on with after a savepoint; nothing runs.

    Args:
        parallelism: as for :func:`restore_savepoint`.
    """
    changed = {PARTITIONS: str(parallelism or savepoint.parallelism), PROVIDER: SNAPLINE}
    offsets = moved_offsets(savepoint.offsets, changed)
    with tempfile.TemporaryDirectory(prefix="snapline-plan-") as folder:
        files = LocalFiles(folder)
        # Without an entry of the batch Spark reads back no description of an operator.
        files.write_new(f"{OFFSETS}/0", offsets)
        mode, settings = field_of(writer._jwrite, "outputMode"), offsets.decode().split("\n")[1]
        # Spark refuses a query here with the error that it would raise at the start.
        text = java_savepoints(session).planned(writer._df._jdf, mode, settings, Path(folder).as_uri())
        yield PlannedQuery(parse_operators(str(text)), files)
