"""Counts what appears below a folder: bytes and files, each once, on whatever schedule they are written."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Written:
    bytes: int = 0
    files: int = 0
    sidecar_bytes: int = 0
    sidecars: int = 0


class WrittenWatch:
    """
    `new()` tells what was written since the last call. A file replaced under its old name counts again; one that
    has grown counts by its growth. Hidden checksum sidecars (`.x.crc`) count apart; other hidden names are Hadoop's
    files in the making, which count when they get their final name. Call it after every batch: what is made and
    deleted in between is not seen.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, tuple[int, int]] = {}

    def new(self) -> Written:
        written = Written()
        for entry in files_below(self._folder):
            sidecar = entry.name.endswith(".crc")
            if entry.name.startswith(".") and not sidecar:
                continue
            try:
                stat = entry.stat()
            except FileNotFoundError:
                continue
            inode, size = self._seen.get(entry.path, (-1, 0))
            self._seen[entry.path] = (stat.st_ino, stat.st_size)
            is_new = inode != stat.st_ino
            grown = stat.st_size if is_new else max(0, stat.st_size - size)
            if sidecar:
                written.sidecars += is_new
                written.sidecar_bytes += grown
            else:
                written.files += is_new
                written.bytes += grown
        return written

    def quiet(self, still_s: float = 1.0, at_most_s: float = 60.0) -> Written:
        """Like `new()`, after waiting until nothing has been written for a while: background uploads are done then."""
        total = self.new()
        give_up = time.monotonic() + at_most_s
        still_since = time.monotonic()
        while time.monotonic() - still_since < still_s and time.monotonic() < give_up:
            time.sleep(0.1)
            more = self.new()
            if more != Written():
                still_since = time.monotonic()
            total = plus(total, more)
        return total


def plus(a: Written, b: Written) -> Written:
    return Written(
        a.bytes + b.bytes,
        a.files + b.files,
        a.sidecar_bytes + b.sidecar_bytes,
        a.sidecars + b.sidecars,
    )


def files_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(Path(entry.path))
        else:
            yield entry
