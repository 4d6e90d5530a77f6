"""Removes savepoints."""

from __future__ import annotations

from snapline.errors import NotACheckpoint
from snapline.folder.files import Files
from snapline.format import Kind
from snapline.savepoint.metadata import METADATA, UNFINISHED


def dispose_savepoint(files: Files) -> None:
    """Removes a savepoint with all its files; also one that was never finished.

    Raises:
        NotACheckpoint: the folder is no savepoint. Nothing is removed.
        StorageFailure: the file system refused.
    """
    if not _is_savepoint(files):
        raise NotACheckpoint(f"{files.location} is no savepoint.", "give the folder of one.")
    # Cut short, it is still told from other folders, and no longer taken for a savepoint.
    if not files.exists(UNFINISHED):
        files.write_new(UNFINISHED, b"")
    files.delete(METADATA)
    for name in files.list(""):
        if name != UNFINISHED:
            files.delete(name)
    files.delete("")


def _is_savepoint(files: Files) -> bool:
    """Others call something ``_metadata`` too: Spark a folder in that of an operator, Parquet a file of a table. The
    rest of a savepoint's own may be damaged."""
    there = files.walk("")
    if UNFINISHED in there:
        return True
    magic = Kind.SAVEPOINT.magic
    if METADATA not in there or files.size(METADATA) < len(magic):
        return False
    return files.read_at(METADATA, 0, len(magic)) == magic
