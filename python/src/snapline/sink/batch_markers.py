"""Skips micro-batches that were written: for foreachBatch and sinks without transactions of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from snapline.errors import IncompatibleState
from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import is_connect
from snapline.sink.named_writer import NamedWriter
from snapline.sink.running_query import RunningQuery, query_of

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

        The function raises InvalidConfiguration for a batch that another one has written under the same name, and
        IncompatibleState if a later batch has a marker.

        Args:
            write: gets the rows and the number of the micro-batch.
            name: tells apart the functions of a query.
        """
        return _Marked(self._folder, name, write)

    @staticmethod
    def delta_options(df: DataFrame, batch: int, name: str = "main") -> dict[str, str]:
        """Options of a write to a Delta table by which Delta skips a micro-batch that it has.

        Delta computes no batch that it skips. With state before it, persist and count the rows first.
        """
        return {"txnAppId": f"{query_of(df)}/{name}", "txnVersion": str(batch)}


class _Marked(NamedWriter):
    naming = "once(write, name)"

    def __init__(self, folder: str, name: str, write: Write) -> None:
        super().__init__(name, write, where=folder)
        self._folder = folder
        self._function = write

    def _write(self, df: DataFrame, batch: int, query: RunningQuery) -> None:
        files, folder = HadoopFiles(df.sparkSession, self._folder), f"{query.id}/{self.name}"
        written = [int(found) for found in files.list(folder) if found.isdigit()]
        newest = max(written, default=-1)
        if newest > batch:
            raise IncompatibleState(
                f"{files.location}/{folder} has a marker of batch {newest}, and the checkpoint folder goes on with "
                f"batch {batch}: it is older than the output.",
                "put the newest state of the checkpoint folder back; or give another name to the function and to "
                f"delta_options, and rows of batch {batch} and later ones may come twice.",
            )
        if newest == batch:
            df.write.format("noop").mode("overwrite").save()
            return
        self._function(df, batch)
        files.write_new(f"{folder}/{batch}", b"")
        for old in written:
            files.delete(f"{folder}/{old}")


def once(session: SparkSession, folder: str) -> Once:
    """Markers of micro-batches that were written, for functions of ``foreachBatch``.

    Args:
        folder: path or URI of any Hadoop file system; several queries may share one.
    """
    if not is_connect(session):
        # A folder that cannot be is refused here, and not in the first batch.
        HadoopFiles(session, folder)
    return Once(folder)
