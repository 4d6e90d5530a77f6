"""The log in which a file source of Spark keeps the files that it has taken in (FileStreamSourceLog)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from snapline.folder.files import Files

_COMPACT = re.compile(r"([0-9]{1,18})\.compact")
_PIECE = 4 << 20


class Untold(Exception):
    """The log does not say which files they are."""


class SourceLog:
    """The log of one source, as it was found: nothing may be added to it meanwhile. Reads only.

    An entry has the files of one number. Spark writes each tenth as ``N.compact``, with the files of all numbers up to
    N: a million, where the query has read so many. The newest of these is read once, piece by piece, and lines of
    numbers before the first that is asked for are not kept.

    Args:
        folder: that of the source, in the checkpoint folder.
        piece: the most bytes of such an entry that are read at a time.
    """

    def __init__(self, files: Files, folder: str, piece: int = _PIECE) -> None:
        self._files = files
        self._folder = folder
        self._piece = piece
        self._names = frozenset(files.list(folder))
        compact = (_COMPACT.fullmatch(name) for name in self._names)
        self._newest = max((int(match[1]) for match in compact if match is not None), default=-1)
        # The files of numbers from `_since` on, by the newest compact entry; None: it is none.
        self._compacted: dict[int, list[str]] | None = None
        self._since: int | None = None

    def uris(self, number: int) -> list[str]:
        """The files of a number. One before the first that was asked for has the compact entry read again.

        Raises:
            Untold: there is no such entry, or it is none.
            StorageFailure: the file system refused.
        """
        if not self._names:
            raise Untold(f"there is no {self._folder}")
        name = f"{self._folder}/{number}"
        if str(number) in self._names:
            kept = _kept(iter(self._files.read(name).split(b"\n")), number, number)
        elif number <= self._newest:
            # It holds all entries before it too, which are removed some minutes later.
            name = f"{self._folder}/{self._newest}.compact"
            if self._since is None or number < self._since:
                self._compacted = _kept(self._lines(name), number, self._newest)
                self._since = number
            kept = self._compacted
        else:
            raise Untold(f"{self._folder} has no entry {number}")
        if kept is None:
            raise Untold(f"{name} is no entry of a file source")
        return kept.get(number, [])

    def _lines(self, name: str) -> Iterator[bytes]:
        size, begun = self._files.size(name), b""
        for offset in range(0, size, self._piece):
            read = self._files.read_at(name, offset, min(self._piece, size - offset))
            *whole, begun = (begun + read).split(b"\n")
            yield from whole
        yield begun


def _kept(lines: Iterator[bytes], first: int, last: int) -> dict[int, list[str]] | None:
    """By number, the files of the numbers from ``first`` to ``last``; None: these are not the lines of an entry."""
    kept: dict[int, list[str]] = {}
    try:
        if not next(lines).startswith(b"v"):
            return None
        for line in lines:
            if line:
                entry = json.loads(line.decode("utf-8"))
                number = entry["batchId"]
                if first <= number <= last:
                    kept.setdefault(number, []).append(str(entry["path"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return kept
