"""``snapline/interval``: while it is there, state in storage may lag behind the logs, and a start recovers first.

It holds the number of the newest batch whose state was durable by itself when it was written; -1 if there was none.
"""

from __future__ import annotations

from snapline.folder.files import Files
from snapline.folder.journal import NO_CHECKPOINT, CheckpointRef
from snapline.folder.logs import COMMITS, Log

INTERVAL_MARK = "snapline/interval"


def make_mark(files: Files) -> bytes:
    """For a query all of whose batches are durable by themselves."""
    newest = Log(files, COMMITS).newest()
    return str(-1 if newest is None else newest).encode()


def durable_before(files: Files) -> CheckpointRef:
    """Where a recovery begins if no checkpoint is newer. Number 0, for it is none."""
    text = files.read(INTERVAL_MARK).strip() if files.exists(INTERVAL_MARK) else b""
    return CheckpointRef(NO_CHECKPOINT.id, int(text)) if text.isdigit() else NO_CHECKPOINT
