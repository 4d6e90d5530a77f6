"""The log of Spark's file sink, which counts the batches from 0 and cannot do with a gap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from snapline.errors import InvalidConfiguration
from snapline.folder.files import Files
from snapline.folder.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "_spark_metadata"
_EMPTY = b"v1"
_INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"
_ENTRY = re.compile(r"(\d+)(\.compact)?")


def prepare_file_sink(session: SparkSession, output: str, batch: int) -> None:
    """Makes the output folder of a file sink fit for a query that goes on after ``batch``.

    The sink's log is compacted every tenth batch from those before it: in a fresh folder they get entries without
    files. A folder that the query wrote to up to that batch stays as it is.

    Raises:
        InvalidConfiguration: the sink has later batches, which it would pass over, or has a gap.
        StorageFailure: the file system refused.
    """
    files = HadoopFiles(session, output)
    newest = max(_batches(files), default=None)
    if newest == batch:
        return
    if newest is not None:
        raise InvalidConfiguration(
            f"{files.location} has batches up to {newest}; the restored query goes on after batch {batch}.",
            "give it an output folder of its own: the file sink passes over batches it has, and needs all before.",
        )
    for name in _seed(batch, int(session.conf.get(_INTERVAL) or 10)):
        files.write_new(f"{LOG}/{name}", _EMPTY)


def _batches(files: Files) -> list[int]:
    matches = (_ENTRY.fullmatch(name) for name in files.list(LOG))
    return [int(match[1]) for match in matches if match is not None]


def _seed(batch: int, interval: int) -> list[str]:
    """Names of the entries that stand for the batches up to this one: those since the last compaction, and two of it,
    from which Spark takes the interval."""
    compacted = (batch + 1) // interval * interval - 1
    names = [f"{at}.compact" for at in (compacted - interval, compacted) if at >= 0]
    return names + [str(at) for at in range(compacted + 1, batch + 1)]
