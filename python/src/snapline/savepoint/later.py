"""The batches of a query after the state that is taken of it."""

from __future__ import annotations

import logging

from snapline.folder.files import Files
from snapline.folder.logs import COMMITS, Log

_log = logging.getLogger(__name__)


def warn_of_later_batches(source: Files, batch: int) -> None:
    """With an interval the newest complete state is that of the newest checkpoint, and the sink is ahead of it.

    Args:
        source: the checkpoint folder.
        batch: the batch of the state, which is not the one that was asked for.
    """
    newest = Log(source, COMMITS).newest()
    if newest is not None and newest > batch:
        _log.warning(
            "The newest state of %s that is whole is that after batch %d, and batches up to %d were committed: a query "
            "that goes on from it forms those anew, maybe of other rows, and its sink gets them twice; one that passes "
            "over batch numbers it has loses rows. Give it another sink; or start the query once more and stop it with "
            "stop_with_savepoint(), or after trigger_checkpoint(), and take its state then.",
            source.location,
            batch,
            newest,
        )
