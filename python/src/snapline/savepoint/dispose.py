"""Removes savepoints."""

from __future__ import annotations

from snapline.errors import NotACheckpoint
from snapline.folder.files import Files
from snapline.savepoint.metadata import METADATA, UNFINISHED


def dispose_savepoint(files: Files) -> None:
    """Removes a savepoint with all its files; also one that was never finished.

    Raises:
        NotACheckpoint: the folder is no savepoint. Nothing is removed.
        StorageFailure: the file system refused.
    """
    if not files.exists(METADATA) and not files.exists(UNFINISHED):
        raise NotACheckpoint(f"{files.location} is no savepoint.", "give the folder of one.")
    # Cut short, it is still told from other folders, and no longer taken for a savepoint.
    if not files.exists(UNFINISHED):
        files.write_new(UNFINISHED, b"")
    files.delete(METADATA)
    for name in files.list(""):
        if name != UNFINISHED:
            files.delete(name)
    files.delete("")
