"""What a recovery writes down before it moves anything: where it goes from, and how far."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

from snapline.errors import CheckpointDamaged, UnsupportedVersion
from snapline.format.members import json_object

REPLAY = "snapline/replay"
JOURNAL = f"{REPLAY}/journal"

_FORMAT = 1


class CheckpointRef(NamedTuple):
    """A checkpoint: its number, and the batch whose end it was taken at."""

    id: int
    batch: int


# Before the first batch: recovery without a checkpoint replays all.
NO_CHECKPOINT = CheckpointRef(0, -1)


@dataclass(frozen=True)
class Journal:
    """A recovery that has begun.

    Attributes:
        checkpoint: number of the checkpoint whose state is taken.
        batch: its batch; -1 with the empty state.
        committed: the newest batch with a commit entry. The sink has it.
        planned: the newest batch of the offset log: ``committed``, or one more.
    """

    checkpoint: int
    batch: int
    committed: int
    planned: int

    @property
    def ref(self) -> CheckpointRef:
        """The checkpoint."""
        return CheckpointRef(self.checkpoint, self.batch)

    @property
    def hidden(self) -> range:
        """The batches whose log entries are hidden, and which are run again."""
        return range(self.batch + 1, self.planned + 1)

    def to_bytes(self) -> bytes:
        """As a file."""
        return json.dumps({"kind": "replay", "format": _FORMAT, **asdict(self)}).encode()


def parse_journal(data: bytes, path: str) -> Journal:
    """
    Raises:
        CheckpointDamaged: it is no journal.
        UnsupportedVersion: it is of a later version.
    """
    try:
        value = json_object(data)
        if value["kind"] != "replay":
            raise ValueError("another kind")
        if value["format"] != _FORMAT:
            raise UnsupportedVersion(
                f"{path} has format {value['format']}; this version reads format {_FORMAT}.",
                "let the version of Snapline that began this recovery end it, or a later one.",
            )
        numbers = [value[name] for name in ("checkpoint", "batch", "committed", "planned")]
        if not all(type(number) is int for number in numbers):
            raise ValueError("no numbers")
    except (ValueError, KeyError):
        raise CheckpointDamaged(
            f"{path} cannot be read.",
            f"move the files of {REPLAY}/offsets and {REPLAY}/commits back to offsets and commits (those in commits "
            f"replace what is there), remove {REPLAY}, and start again.",
        ) from None
    return Journal(*numbers)
