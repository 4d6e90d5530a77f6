"""The batches of a query after the state that is taken of it."""

from __future__ import annotations

import logging

from snapline.folder.files import Files
from snapline.folder.logs import COMMITS, Log
from snapline.savepoint.state import CheckpointState

_log = logging.getLogger(__name__)


def warn_of_later_batches(source: Files, state: CheckpointState) -> None:
    """Batches that the sink may have, and the state has not.

    With an interval the newest complete state is that of the newest checkpoint, and the sink is ahead of it.

    Args:
        source: the checkpoint folder.
        state: the newest one that is complete.
    """
    newest = Log(source, COMMITS).newest()
    if newest is not None and newest > state.batch:
        _log.warning(
            "The newest state of %s that is whole is that after batch %d, and batches up to %d were committed: a query "
            "that goes on from it forms those anew, maybe of other rows, and its sink gets them twice; one that passes "
            "over batch numbers it has loses rows. Give it another sink; or start the query once more and stop it with "
            "stop_with_savepoint(), or after trigger_checkpoint(), and take its state then.",
            source.location,
            state.batch,
            newest,
        )
    elif state.planned is not None:
        _log.warning(
            "Batch %d of %s was planned and not committed: the sink may have a part of its rows. A query that goes on "
            "runs it again. If its id is another one, a sink that knows rows by the id (snapline.exactly_once, "
            "snapline.once) gets them twice: start the query once more, and stop it with stop_with_savepoint().",
            state.batch + 1,
            source.location,
        )
