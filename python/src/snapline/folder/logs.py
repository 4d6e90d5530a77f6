"""The offset log and the commit log of a checkpoint, entry by entry (Spark's OffsetSeqLog and CommitLog)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from snapline.errors import CheckpointDamaged
from snapline.folder.files import Files

OFFSETS = "offsets"
COMMITS = "commits"
_VOID = "-"


@dataclass(frozen=True)
class LogEntry:
    """One entry: a line ``v<version>``, a line of JSON, and in the offset log a line per source.

    Attributes:
        text: the whole file.
        metadata: the JSON; empty where the line is.
        lines: what follows.
    """

    batch: int
    text: bytes
    version: int
    metadata: Mapping[str, Any]
    lines: tuple[str, ...]

    @property
    def offsets(self) -> dict[str, str | None]:
        """By source, of an entry of the offset log: its number in version 1, its name in version 2. None: no offset."""
        if self.version == 1:
            named = {str(number): line for number, line in enumerate(self.lines)}
        else:
            named = {name: offset for name, _, offset in (line.partition(":") for line in self.lines)}
        return {name: None if offset == _VOID else offset for name, offset in named.items()}

    @property
    def watermark_ms(self) -> int:
        """The watermark the batch runs with (offset log), or that of the next one (commit log), in milliseconds."""
        value = self.metadata.get("batchWatermarkMs", self.metadata.get("nextBatchWatermarkMs", 0))
        return value if type(value) is int else 0

    @property
    def state_ids(self) -> Any:
        """In the commit log of checkpoint format 2: operator -> partition -> ids of its stores. Else None."""
        return self.metadata.get("stateUniqueIds") or None


class Log:
    """One of the two logs. Reads only."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self.folder = folder

    def name(self, batch: int) -> str:
        """The file of a batch."""
        return f"{self.folder}/{batch}"

    def batches(self) -> list[int]:
        """All that have an entry, ascending."""
        return batches_in(self._files, self.folder)

    def newest(self) -> int | None:
        """None: the log is empty."""
        return max(self.batches(), default=None)

    def read(self, batch: int) -> LogEntry:
        """
        Raises:
            StateNotFound: there is no entry.
            CheckpointDamaged: it cannot be read.
        """
        name = self.name(batch)
        return parse_entry(batch, self._files.read(name), f"{self._files.location}/{name}")


def batches_in(files: Files, folder: str) -> list[int]:
    """Numbers of the batch files directly in a folder, ascending."""
    return sorted(int(name) for name in files.list(folder) if name.isascii() and name.isdigit())


def parse_entry(batch: int, text: bytes, path: str) -> LogEntry:
    """
    Raises:
        CheckpointDamaged: it is no entry of Spark's logs.
    """
    try:
        first, *rest = text.decode("utf-8").split("\n")
        if not first.strip().startswith("v"):
            raise ValueError("no version")
        version = int(first.strip()[1:])
        metadata = json.loads(rest[0]) if rest and rest[0].strip() else {}
        if not isinstance(metadata, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError):
        raise CheckpointDamaged(
            f"{path}, which Spark wrote, cannot be read.",
            "restore it from a backup, or go back to a checkpoint before it.",
        ) from None
    # Spark writes no line end after the last line.
    return LogEntry(batch, text, version, metadata, tuple(line for line in rest[1:] if line))
