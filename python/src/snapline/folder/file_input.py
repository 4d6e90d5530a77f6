"""The input files of a micro-batch, by the logs that Spark's file sources keep in ``sources/`` of a checkpoint.

Spark leaves out, without a word, those that are gone when a batch is run again (InMemoryFileIndex lists what is there).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.logs import OFFSETS, Log
from snapline.folder.source_log import SourceLog, Untold

_SOURCES = "sources"
_READERS = 8

_log = logging.getLogger(__name__)


class FileInput:
    """The file inputs of a query, by its checkpoint folder. Reads only.

    The logs of its sources are read once for all batches of a recovery, which adds nothing to them.
    """

    def __init__(self, files: HadoopFiles) -> None:
        self._files = files
        self._offsets = Log(files, OFFSETS)
        self._logs: dict[str, SourceLog] = {}

    def forget(self) -> None:
        """Behind the last batch of a recovery: the query itself adds to the logs."""
        self._logs.clear()

    def missing(self, batch: int) -> list[str]:
        """Files that the batch reads, and that are not there, as URIs; none where the logs do not tell which it reads.

        Raises:
            StorageFailure: a file system refused.
        """
        try:
            uris = [
                uri
                for source, first, last in self._ranges(batch)
                for number in range(first, last + 1)
                for uri in self._log_of(source).uris(number)
            ]
        except Untold as e:
            _log.warning("The input files of batch %d are not looked for before it is run again: %s.", batch, e)
            return []
        with ThreadPoolExecutor(_READERS) as pool:
            return [uri for uri, there in zip(uris, pool.map(self._files.exists_at, uris), strict=True) if not there]

    def _ranges(self, batch: int) -> Iterator[tuple[str, int, int]]:
        """For each file source its name, and the entries of its log that the batch reads: first and last."""
        before = self._offsets.read(batch - 1).offsets if batch > 0 else {}
        for source, offset in self._offsets.read(batch).offsets.items():
            last = _log_offset(offset)
            if last is not None:
                first = _log_offset(before.get(source))
                yield source, 0 if first is None else first + 1, last

    def _log_of(self, source: str) -> SourceLog:
        """A source's number is that of its folder, unless the query reads one in two places (MicroBatchExecution)."""
        if source not in self._logs:
            self._logs[source] = SourceLog(self._files, f"{_SOURCES}/{source}")
        return self._logs[source]


def _log_offset(offset: str | None) -> int | None:
    """The number in a file source's offset; None for any other source."""
    try:
        value = json.loads(offset or "null")
    except (ValueError, RecursionError):
        return None
    number = value.get("logOffset") if isinstance(value, dict) else None
    return number if type(number) is int else None
