"""Spark's files about stateful operators, ``state/<operator>/_metadata/v2/<batch>``, as far as nobody needs them.

The first batch of each run writes one for an operator whose state has a schema that may change. Each replayed batch is
a run, and Spark removes none while it keeps the logs, as it does with checkpoints at an interval.
"""

from __future__ import annotations

from snapline.folder.files import Files
from snapline.folder.logs import batches_in

_STATE = "state"


def prune_operator_metadata(files: Files) -> None:
    """Removes each file that says what the one before it says: who reads takes the newest up to a batch."""
    for operator in files.list(_STATE):
        folder = f"{_STATE}/{operator}/_metadata/v2"
        kept: bytes | None = None
        for batch in batches_in(files, folder):
            name = f"{folder}/{batch}"
            text = files.read(name)
            if text == kept:
                files.delete(name)
            kept = text
