"""What a checkpoint folder that was begun with a savepoint says of that (docs/FORMAT.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from snapline.format.frame import damaged
from snapline.query.files import Files

_NAME = "snapline/restored"


@dataclass(frozen=True)
class Restored:
    """
    Attributes:
        savepoint: its id.
        source: where it was then.
        waiting_after: the batch after which rows or timers of it wait, if any do.
        waiting_in: numbers of the operators that they wait in; a folder begun by an earlier version does not say.
    """

    savepoint: str
    source: str
    waiting_after: int | None = None
    waiting_in: tuple[int, ...] = ()

    def write(self, files: Files) -> None:
        waiting = {} if self.waiting_after is None else {"waiting": self.waiting_after, "operators": self.waiting_in}
        files.write_new(_NAME, json.dumps({"savepoint": self.savepoint, "from": self.source, **waiting}).encode())


def read_restored(files: Files) -> Restored | None:
    """None: the folder was begun without a savepoint.

    Raises:
        CheckpointDamaged: what was noted of it cannot be read.
    """
    if not files.exists(_NAME):
        return None
    try:
        told = json.loads(files.read(_NAME))
        waiting = told.get("waiting")
        return Restored(
            str(told["savepoint"]),
            str(told["from"]),
            None if waiting is None else int(waiting),
            tuple(int(operator) for operator in told.get("operators", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged(f"{files.location}/{_NAME}", "it does not name a savepoint") from None
