"""A quick look at a query's checkpoints: of its stores nothing is listed or read."""

from __future__ import annotations

from dataclasses import dataclass

from snapline.errors import NotACheckpoint
from snapline.inspect.files import Folder
from snapline.inspect.listed_files import ListedFiles
from snapline.inspect.numbered import NumberedCheckpoint, NumberedCheckpoints, ReplayProgress, Restart

_LOGS = ("offsets", "commits")
_LOOKED_AT = (*_LOGS, "snapline")


@dataclass(frozen=True)
class Glance:
    """The state of a checkpoint folder at this moment.

    Attributes:
        planned: the newest batch with offsets, and ``committed`` the newest that the sink has.
        restart: the place where a start begins, if state is stored at checkpoints only; else None.
        checkpoints: the checkpoints, ascending. Their files are not checked.
    """

    planned: int | None
    committed: int | None
    restart: Restart | None
    checkpoints: tuple[NumberedCheckpoint, ...]
    replay: ReplayProgress | None


def glance(folder: Folder) -> Glance:
    """
    Raises:
        NotACheckpoint: the folder has no logs of a query.
        StorageFailure: the file system refused.
    """
    listed = {name: folder.list_files(name) for name in _LOOKED_AT}
    if all(listed[name] is None for name in _LOGS):
        raise NotACheckpoint(
            f"{folder.location} has neither offsets/ nor commits/.", "give the checkpointLocation of a query."
        )
    files = [file for found in listed.values() for file in found or ()]
    numbered = NumberedCheckpoints(ListedFiles(folder, files))
    found = tuple(numbered.read(thoroughly=False))
    return Glance(
        numbered.newest_planned(),
        numbered.newest_committed(),
        numbered.restart(found),
        found,
        numbered.replay(),
    )
