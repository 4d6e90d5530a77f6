"""The record of the savepoint that a checkpoint folder was begun with (docs/FORMAT.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from snapline.errors import hide_passwords
from snapline.folder.files import Files
from snapline.format.frame import damaged
from snapline.format.members import BadMeta, count, json_object, need

_NAME = "snapline/restored"


@dataclass(frozen=True)
class Waiting:
    """Rows and timers that came with a savepoint and were not processed.

    Attributes:
        after: the batch that they wait after.
        operators: numbers of those they wait in; a folder begun by an earlier version does not say.
    """

    after: int
    operators: tuple[int, ...]


@dataclass(frozen=True)
class Restored:
    """
    Attributes:
        savepoint: its id.
        source: its location then; ``write`` leaves a password out.
        waiting: None: nothing of it waits.
    """

    savepoint: str
    source: str
    waiting: Waiting | None = None

    def write(self, files: Files) -> None:
        waiting = {} if self.waiting is None else {"waiting": self.waiting.after, "operators": self.waiting.operators}
        files.write_new(
            _NAME, json.dumps({"savepoint": self.savepoint, "from": hide_passwords(self.source), **waiting}).encode()
        )


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
        told = json_object(data)
        operators = told.get("operators", [])
        if not (isinstance(operators, list) and all(type(operator) is int for operator in operators)):
            raise BadMeta("operators are no numbers")
        waiting = Waiting(count(told, "waiting"), tuple(operators)) if "waiting" in told else None
        return Restored(need(told, "savepoint", str), need(told, "from", str), waiting)
    except BadMeta as e:
        raise damaged(path, f"it does not name a savepoint ({e})") from None
