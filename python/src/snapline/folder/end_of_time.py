"""The end of event time: the watermark that a drained query ends with (docs/notes/006-savepoints.md)."""

from __future__ import annotations

from snapline.errors import CheckpointDamaged, StateNotFound
from snapline.folder.files import Files
from snapline.folder.logs import COMMITS, Log, LogEntry

#: 9000-01-01 in milliseconds: after every event, and far enough from the last day that Python and Spark can hold
#: for a function to count on from it.
END_OF_TIME_MS = 221_845_392_000_000


def is_drained(commit: LogEntry) -> bool:
    """Whether the batch after this one would take every row for a late one."""
    return commit.watermark_ms >= END_OF_TIME_MS


def was_drained(files: Files) -> bool:
    """Whether the query on this checkpoint folder has ended so."""
    commits = Log(files, COMMITS)
    try:
        newest = commits.newest()
        return newest is not None and is_drained(commits.read(newest))
    except (StateNotFound, CheckpointDamaged):
        # A caller that needs the entry raises.
        return False
