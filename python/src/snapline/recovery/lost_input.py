"""Input that is gone when a batch is to be run again: what is said of it."""

from __future__ import annotations

from collections.abc import Sequence

from snapline.errors import StateNotFound

# Spark's text for Kafka ends in advice that would let a replay pass over what is gone.
_KAFKA = "set the source option failOnDataLoss to false"
_REASON = "Reason: "


def input_is_lost(batch: int, failure: Exception) -> StateNotFound | None:
    """The error for a replay that failed for it; None: it failed for another reason."""
    lines = [line.strip() for line in f"{failure}\n{getattr(failure, '_stackTrace', None) or ''}".splitlines()]
    if not any(_KAFKA in line for line in lines):
        return None
    reason = next((line.removeprefix(_REASON) for line in lines if line.startswith(_REASON)), "records have expired")
    return _error(batch, reason, "failOnDataLoss=false")


def files_are_lost(batch: int, uris: Sequence[str]) -> StateNotFound:
    """The error for files of the batch that are not there."""
    others = f" and {len(uris) - 1} more" if len(uris) > 1 else ""
    return _error(batch, f"{uris[0]}{others}", "CheckpointConfig(forced=True)")


def _error(batch: int, what: str, pass_over: str) -> StateNotFound:
    return StateNotFound(
        f"batch {batch} has to be run again for its state, and input that it read is gone: {what}.",
        "bring it back, and keep input as far back as the oldest checkpoint from now on. If it is gone for good: take "
        f"a newer checkpoint (restore=), if there is one; or pass over it with {pass_over}, which makes another state "
        "than the one whose output the sink has.",
    )
