"""The input files of a micro-batch, by the logs that Spark's file sources keep in ``sources/`` of a checkpoint.

Spark leaves out, without a word, those that are gone when a batch is run again (InMemoryFileIndex lists what is there).
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.logs import OFFSETS, Log

_SOURCES = "sources"
_COMPACT = ".compact"
_IS_COMPACT = re.compile(r"[0-9]{1,18}\.compact")
_READERS = 8

_log = logging.getLogger(__name__)


class FileInput:
    """The file inputs of a query, by its checkpoint folder. Reads only."""

    def __init__(self, files: HadoopFiles) -> None:
        self._files = files
        self._offsets = Log(files, OFFSETS)

    def missing(self, batch: int) -> list[str]:
        """Files that the batch reads, and that are not there, as URIs; none where the logs do not tell which it reads.

        Raises:
            StorageFailure: a file system refused.
        """
        try:
            uris = [uri for source, first, last in self._ranges(batch) for uri in self._uris(source, first, last)]
        except _Untold as e:
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

    def _uris(self, source: str, first: int, last: int) -> Iterator[str]:
        """A source's number is that of its folder, unless the query reads one in two places (MicroBatchExecution)."""
        folder = f"{_SOURCES}/{source}"
        names = set(self._files.list(folder))
        if not names:
            raise _Untold(f"there is no {folder}")
        compact = sorted(int(name[: -len(_COMPACT)]) for name in names if _IS_COMPACT.fullmatch(name))
        # A compact entry holds all before it too, which are removed some minutes later.
        for number in range(first, last + 1):
            name = str(number) if str(number) in names else None
            if name is None:
                name = next((f"{each}{_COMPACT}" for each in compact if each >= number), None)
            if name is None:
                raise _Untold(f"{folder} has no entry {number}")
            yield from self._in_entry(f"{folder}/{name}", number)

    def _in_entry(self, name: str, number: int) -> Iterator[str]:
        try:
            version, *lines = self._files.read(name).decode("utf-8").split("\n")
            if not version.startswith("v"):
                raise ValueError("no version")
            entries = [json.loads(line) for line in lines if line]
            yield from [str(entry["path"]) for entry in entries if entry["batchId"] == number]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise _Untold(f"{name} is no entry of a file source") from None


class _Untold(Exception):
    """The logs do not say which files they are."""


def _log_offset(offset: str | None) -> int | None:
    """The number in a file source's offset; None for any other source."""
    try:
        value = json.loads(offset or "null")
    except (ValueError, RecursionError):
        return None
    number = value.get("logOffset") if isinstance(value, dict) else None
    return number if type(number) is int else None
