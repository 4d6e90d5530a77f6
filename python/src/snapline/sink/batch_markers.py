"""Skips micro-batches that were written: for foreachBatch and sinks without transactions of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import is_connect
from snapline.sink.batches import query_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Write = Callable[["DataFrame", int], Any]


class Once:
    """Markers of whole micro-batches in a folder: an empty file ``<query>/<name>/<batch>`` for each of the newest."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self, write: Write, name: str = "main") -> Write:
        """A function for ``foreachBatch`` that calls ``write`` for a micro-batch that has no marker, and then makes it.

        A failure between the two runs ``write`` again with the same rows. It has each row once if it is atomic, or if
        the target skips a batch that it has: :meth:`delta_options`. A micro-batch that is skipped is computed all the
        same, for its state.

        Args:
            write: gets the rows and the number of the micro-batch.
            name: tells apart the functions of a query.
        """

        def once(df: DataFrame, batch: int) -> None:
            files, folder = HadoopFiles(df.sparkSession, self._folder), f"{query_of(df)}/{name}"
            written = [int(found) for found in files.list(folder) if found.isdigit()]
            if written and max(written) >= batch:
                df.write.format("noop").mode("overwrite").save()
                return
            write(df, batch)
            files.write_new(f"{folder}/{batch}", b"")
            for old in written:
                files.delete(f"{folder}/{old}")

        return once

    @staticmethod
    def delta_options(df: DataFrame, batch: int, name: str = "main") -> dict[str, str]:
        """Options of a write to a Delta table by which Delta skips a micro-batch that it has.

        Delta computes no batch that it skips. With state before it, persist and count the rows first.
        """
        return {"txnAppId": f"{query_of(df)}/{name}", "txnVersion": str(batch)}


def once(session: SparkSession, folder: str) -> Once:
    """Markers of micro-batches that were written, for functions of ``foreachBatch``.

    Args:
        folder: path or URI of any Hadoop file system; several queries may share one.
    """
    if not is_connect(session):
        # A folder that cannot be is refused here, and not in the first batch.
        HadoopFiles(session, folder)
    return Once(folder)
