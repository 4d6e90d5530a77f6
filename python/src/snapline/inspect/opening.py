"""Opens whatever holds state."""

from __future__ import annotations

import os

from snapline.inspect.checkpoint import CheckpointFolder
from snapline.inspect.savepoint import SavepointFolder


def open(path: str | os.PathLike[str]) -> CheckpointFolder | SavepointFolder:  # in its module, as in gzip and tarfile
    """The checkpoint folder of a query, or a savepoint, to look into without a JVM.

    Raises:
        NotACheckpoint: the folder is neither.
        StorageFailure: the file system refused.
    """
    return SavepointFolder(path) if SavepointFolder.is_one(path) else CheckpointFolder(path)
