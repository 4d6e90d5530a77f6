"""What a checkpoint folder that was begun with a savepoint says of that (docs/FORMAT.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from snapline.format.frame import damaged
from snapline.format.members import BadMeta, count, need
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
    return parse_restored(files.read(_NAME), f"{files.location}/{_NAME}") if files.exists(_NAME) else None


def parse_restored(data: bytes, path: str) -> Restored:
    """
    Raises:
        CheckpointDamaged: it names no savepoint.
    """
    try:
        told = json.loads(data.decode("utf-8"))
        if not isinstance(told, dict):
            raise BadMeta("it is no JSON object")
        operators = told.get("operators", [])
        if not (isinstance(operators, list) and all(type(operator) is int for operator in operators)):
            raise BadMeta("operators are no numbers")
        return Restored(
            need(told, "savepoint", str),
            need(told, "from", str),
            count(told, "waiting") if "waiting" in told else None,
            tuple(operators),
        )
    except (ValueError, RecursionError) as e:
        raise damaged(
            path, f"it does not name a savepoint ({e if isinstance(e, BadMeta) else type(e).__name__})"
        ) from None
