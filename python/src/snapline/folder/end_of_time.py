"""The end of event time: the watermark that a drained query ends with (docs/notes/006-savepoints.md)."""

from __future__ import annotations

from snapline.errors import CheckpointDamaged, StateNotFound
from snapline.folder.files import Files
from snapline.folder.journal import JOURNAL, REPLAY
from snapline.folder.logs import COMMITS, OFFSETS, Log, LogEntry

#: 9000-01-01 in milliseconds: after every event, and far enough from the last day that Python and Spark can hold
#: for a function to count on from it.
END_OF_TIME_MS = 221_845_392_000_000


def is_drained(entry: LogEntry) -> bool:
    """Whether the batch after this one, which is committed or planned, would take every row for a late one."""
    return entry.watermark_ms >= END_OF_TIME_MS


def was_drained(files: Files) -> bool:
    """Whether the query on this checkpoint folder has ended so."""
    return _ends_at_the_end_of_time(files, COMMITS)


def is_draining(files: Files) -> bool:
    """Whether a drain was cut short: its last batch is planned only, or the replay behind it has not ended."""
    logs = (OFFSETS, f"{REPLAY}/{OFFSETS}")
    is_planned = any(_ends_at_the_end_of_time(files, folder) for folder in logs)
    return is_planned and (files.exists(JOURNAL) or not was_drained(files))


def _ends_at_the_end_of_time(files: Files, folder: str) -> bool:
    log = Log(files, folder)
    try:
        newest = log.newest()
        return newest is not None and is_drained(log.read(newest))
    except (StateNotFound, CheckpointDamaged):
        # A caller that needs the entry raises.
        return False
