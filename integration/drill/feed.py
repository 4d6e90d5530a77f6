"""Gives each query its next file when it has committed the one before."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from snapline.folder.journal import REPLAY

from .work import Work


class Feed:
    """The input of the queries of some works, file by file.

    A batch is one file then, whenever a life ends: with more files at hand, Spark takes two into one batch when it was
    killed between the log of the file source and that of the query. The last file is held back until
    :meth:`give_all`, so that the life that ends the work has a batch with rows, which a batch without rows can follow.

    Attributes:
        holds: no query gets a file by itself.
    """

    def __init__(self, source: Path, works: Sequence[Work]) -> None:
        self.holds = False
        self._files = sorted(source.glob("*.json"))
        self._given = {(work.input(query), work.checkpoint(query)): 0 for work in works for query in work.queries}
        for folder, _ in self._given:
            folder.mkdir(parents=True)
        for query in self._given:
            self._give(query)

    @property
    def dry(self) -> bool:
        """Every query has all files but the last, and has committed them."""
        return all(
            given == len(self._files) - 1 and _taken_in(checkpoint) == given
            for (_, checkpoint), given in self._given.items()
        )

    @property
    def taken_in(self) -> int:
        """Files that every query has committed."""
        return min(_taken_in(checkpoint) for _, checkpoint in self._given)

    def look(self) -> None:
        if self.holds:
            return
        for query, given in self._given.items():
            if given < len(self._files) - 1 and _taken_in(query[1]) == given:
                self._give(query)

    def give_all(self) -> None:
        """To each query all of its files.

        No query may have a file in the log of its source that is in no batch yet, where a kill left one: Spark would
        take the next file into the same batch. Such an entry goes, as if the kill had come before it was written.
        """
        for _, checkpoint in self._given:
            _remove_unplanned(checkpoint)
        self.give(len(self._files))

    def give(self, files: int) -> None:
        """To each query, up to so many."""
        for query in self._given:
            while self._given[query] < files:
                self._give(query)

    @property
    def given(self) -> int:
        """To the query that has had most."""
        return max(self._given.values())

    def _give(self, query: tuple[Path, Path]) -> None:
        # A link appears whole, and keeps the time of change, by which the file source orders files.
        file = self._files[self._given[query]]
        os.link(file, query[0] / file.name)
        self._given[query] += 1


def _remove_unplanned(checkpoint: Path) -> None:
    """Entries of the file source's log past the newest batch that is planned."""
    # A replay that was killed has hidden some batches; they stay planned.
    planned = max(_files_up_to(_newest(checkpoint / place)) for place in ("offsets", f"{REPLAY}/offsets"))
    for entry in (checkpoint / "sources" / "0").glob("[0-9]*"):
        if int(entry.name.partition(".")[0]) >= planned:
            remove(entry)


def remove(entry: Path) -> None:
    """An entry of a log and its checksum, over which Spark would write no other."""
    entry.unlink()
    entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)


def _taken_in(checkpoint: Path) -> int:
    """How many files the newest committed batch reaches to. Fewer than it was, while a replay hides entries."""
    newest = _newest(checkpoint / "commits")
    return _files_up_to(newest and checkpoint / "offsets" / newest.name)


def _newest(log: Path) -> Path | None:
    """The entry of the newest batch in a folder of Spark's log."""
    names = os.listdir(log) if log.is_dir() else []  # noqa: PTH208
    return max((log / name for name in names if name.isdigit()), key=lambda entry: int(entry.name), default=None)


def _files_up_to(offsets: Path | None) -> int:
    """How many files are in a batch and in those before it, as its entry of offsets has it."""
    try:
        return int(json.loads(offsets.read_text().splitlines()[2])["logOffset"]) + 1 if offsets else 0
    except (FileNotFoundError, ValueError, IndexError):
        return 0
