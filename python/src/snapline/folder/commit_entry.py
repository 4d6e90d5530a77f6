"""Commit entries of a replayed batch: the original, and the one that the replay wrote."""

from __future__ import annotations

import json
from typing import Any

from snapline.errors import IncompatibleState
from snapline.folder.logs import LogEntry

_IDS = "stateUniqueIds"
_WATERMARK = "nextBatchWatermarkMs"
# A member of commit log version 3: the replay has another sink.
_SINKS = "sinkMetadataMap"


def put_back(original: LogEntry, replayed: LogEntry) -> bytes:
    """The entry to go on with: the original, with the ids of the states that the replay made (checkpoint format 2).

    The watermark of the replayed entry may be lower: a replay is a restart, and after a restart Spark does not know how
    far each of several watermarks had come.

    Raises:
        IncompatibleState: they are not of the same batch.
    """
    differing = list(_differences(original, replayed))
    if differing:
        raise IncompatibleState(
            f"batch {original.batch} was replayed, and its commit differs from the original in "
            f"{', '.join(differing)}: {original.text!r} became {replayed.text!r}.",
            "start the query as it was when it stopped (its plan, its watermarks and its settings), or go back to an "
            "older checkpoint.",
        )
    if replayed.state_ids is None:
        return original.text
    metadata = {**original.metadata, _IDS: replayed.state_ids}
    if metadata == replayed.metadata:
        return replayed.text
    return f"v{original.version}\n{json.dumps(metadata, separators=(',', ':'))}".encode()


def may_stay(replayed: LogEntry) -> bool:
    """Whether the query can go on from the entry of a replay: not if it names the replay's sink as the query's."""
    return _SINKS not in replayed.metadata


def _differences(original: LogEntry, replayed: LogEntry) -> list[str]:
    found = []
    if original.version != replayed.version:
        found.append("its version")
    if original.watermark_ms < replayed.watermark_ms:
        found.append(_WATERMARK)
    if _shape(original.state_ids) != _shape(replayed.state_ids):
        found.append(_IDS)
    for name in sorted({*original.metadata, *replayed.metadata} - {_IDS, _WATERMARK, _SINKS}):
        if original.metadata.get(name) != replayed.metadata.get(name):
            found.append(name)
    return found


def _shape(ids: Any) -> Any:
    """How many stores each partition of each operator has."""
    if isinstance(ids, dict):
        return {operator: _shape(partitions) for operator, partitions in ids.items()}
    return [_shape(each) for each in ids] if isinstance(ids, list) else None
