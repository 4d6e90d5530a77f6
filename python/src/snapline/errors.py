"""Everything Snapline raises itself.

The kinds are coarse: one for each thing the reader has to do. Class and ``code`` are API, the text is not. The jar
raises the same kinds under the same codes.
"""

from __future__ import annotations

import re
from typing import ClassVar

_PASSWORD = re.compile(r"(//[^/\s:@]*):[^/\s@]*@")


def hide_passwords(text: str) -> str:
    """Without passwords in URIs (``ftp://user:password@host``): errors and logs are read by many."""
    return _PASSWORD.sub(r"\1:***@", text)


class SnaplineError(Exception):
    """The root: ``[code] what happened. Found: … Do: …``.

    Attributes:
        code: stable and searchable, for example ``SNAPLINE-DAMAGED``.
        found: what was found, with names and numbers.
        action: what to do about it.
    """

    code: ClassVar[str] = "SNAPLINE"
    summary: ClassVar[str] = "Snapline failed."

    def __init__(self, found: str, action: str) -> None:
        self.found = hide_passwords(found)
        self.action = hide_passwords(action)
        super().__init__(f"[{self.code}] {self.summary} Found: {self.found} Do: {self.action}")

    def __reduce__(self) -> tuple[type[SnaplineError], tuple[str, str]]:
        # The message is made of the parts; an exception that crosses a process is made anew from them.
        return type(self), (self.found, self.action)


class CheckpointDamaged(SnaplineError):
    """A file fails its checks and nothing sound stands in for it. Operator action: go back to an older version."""

    code = "SNAPLINE-DAMAGED"
    summary = "The checkpoint is damaged."


class StateNotFound(SnaplineError):
    """The version asked for is not there. Operator action: ask for one that ``checkpoints list`` shows."""

    code = "SNAPLINE-NOT-FOUND"
    summary = "That state does not exist."


class NotACheckpoint(SnaplineError):
    """The folder holds something else. Operator action: give the path of a checkpoint that Snapline wrote."""

    code = "SNAPLINE-NOT-A-CHECKPOINT"
    summary = "This is not a checkpoint of Snapline."


class IncompatibleState(SnaplineError):
    """State and settings do not fit. Operator action: set back what changed, or begin a new checkpoint."""

    code = "SNAPLINE-INCOMPATIBLE"
    summary = "The state does not fit."


class UnsupportedVersion(SnaplineError):
    """The file's format is unknown to this version. Operator action: use the Snapline that wrote it, or a later one."""

    code = "SNAPLINE-VERSION"
    summary = "The format is unknown to this version of Snapline."


class WrongSparkVersion(SnaplineError):
    """Package, jar and Spark are not of one line. Operator action: install the ones that belong together."""

    code = "SNAPLINE-SPARK"
    summary = "Snapline and Spark do not fit."


class InvalidConfiguration(SnaplineError):
    """A setting is out of its range or contradicts another. Operator action: change that setting."""

    code = "SNAPLINE-CONFIG"
    summary = "The configuration is invalid."


class StorageFailure(SnaplineError):
    """The file system refused or failed. Operator action: see to its space, permissions and connection."""

    code = "SNAPLINE-STORAGE"
    summary = "The storage failed."


class QueryTakenOver(SnaplineError):
    """Another driver has begun a query on the same checkpoint folder. Operator action: stop one of the two."""

    code = "SNAPLINE-TAKEN-OVER"
    summary = "Another driver has taken over."


class StateTooLarge(SnaplineError):
    """State, or a row or value that has to travel, has passed a limit. Operator action: do as the message says."""

    code = "SNAPLINE-TOO-LARGE"
    summary = "A limit of size has been passed."


class StoreClosed(SnaplineError):
    """The store is used after its end. Operator action: open it anew."""

    code = "SNAPLINE-CLOSED"
    summary = "The store is closed."


class FunctionNotDeterministic(SnaplineError):
    """A function made of the same rows not the same everywhere. Operator action: fix the function."""

    code = "SNAPLINE-NOT-DETERMINISTIC"
    summary = "The function is not deterministic."


class InternalError(SnaplineError):
    """A promise of the code to itself is broken: a bug. Operator action: report it."""

    code = "SNAPLINE-INTERNAL"
    summary = "A bug in Snapline."
