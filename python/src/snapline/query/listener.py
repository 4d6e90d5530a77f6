"""Tells a program what becomes of the checkpoints of its query."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_IN_PROGRESS = "IN_PROGRESS"

_log = logging.getLogger(__name__)


class CheckpointListener:
    """Override the methods of interest. They are called from a thread of the query, one at a time, in the order of
    numbers.

    ``checkpoint`` is an entry of ``history`` in :meth:`SupervisedQuery.checkpoints`. An error of a method is logged.
    """

    def on_checkpoint_completed(self, checkpoint: Mapping[str, Any]) -> None:
        """It is complete: a recovery may take it."""

    def on_checkpoint_failed(self, checkpoint: Mapping[str, Any]) -> None:
        """It was aborted; ``failure_reason`` and ``failure_message`` say why."""


class ListenerCalls:
    """Finds out from one look at the history to the next what a listener has to be told. One thread."""

    def __init__(self, listeners: Sequence[CheckpointListener]) -> None:
        self._listeners = listeners
        self._told: set[int] = set()

    def look(self, history: Sequence[Mapping[str, Any]]) -> None:
        """``history`` as in :meth:`SupervisedQuery.checkpoints`, newest first."""
        ended = [each for each in reversed(history) if each["status"] != _IN_PROGRESS]
        for checkpoint in ended:
            if checkpoint["id"] not in self._told:
                for listener in self._listeners:
                    failed = checkpoint["status"] == "FAILED"
                    _call(listener.on_checkpoint_failed if failed else listener.on_checkpoint_completed, checkpoint)
        # Numbers that the history has forgotten do not come back.
        self._told = {each["id"] for each in ended}


def _call(method: Callable[[Mapping[str, Any]], None], checkpoint: Mapping[str, Any]) -> None:
    try:
        method(checkpoint)
    except Exception:
        _log.exception("A checkpoint listener failed at checkpoint %d.", checkpoint["id"])
