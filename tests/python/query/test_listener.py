from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snapline.query.listener import CheckpointListener, ListenerCalls


class Recorder(CheckpointListener):
    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def on_checkpoint_completed(self, checkpoint: Mapping[str, Any]) -> None:
        self.calls.append(("completed", checkpoint["id"]))

    def on_checkpoint_failed(self, checkpoint: Mapping[str, Any]) -> None:
        self.calls.append(("failed", checkpoint["id"]))


def entry(number: int, status: str) -> dict[str, Any]:
    return {"id": number, "status": status}


def test_each_end_is_told_once_in_the_order_of_numbers() -> None:
    recorder = Recorder()
    calls = ListenerCalls([recorder])
    calls.look([entry(2, "IN_PROGRESS"), entry(1, "COMPLETED")])
    calls.look([entry(3, "COMPLETED"), entry(2, "FAILED"), entry(1, "COMPLETED")])
    # The history has forgotten the first.
    calls.look([entry(4, "COMPLETED"), entry(3, "COMPLETED"), entry(2, "FAILED")])
    assert recorder.calls == [("completed", 1), ("failed", 2), ("completed", 3), ("completed", 4)]


def test_a_listener_that_raises_harms_nobody() -> None:
    class Broken(CheckpointListener):
        def on_checkpoint_completed(self, checkpoint: Mapping[str, Any]) -> None:
            raise ValueError("mine")

    recorder = Recorder()
    calls = ListenerCalls([Broken(), recorder])
    calls.look([entry(1, "COMPLETED")])
    calls.look([entry(2, "COMPLETED"), entry(1, "COMPLETED")])
    assert recorder.calls == [("completed", 1), ("completed", 2)]
