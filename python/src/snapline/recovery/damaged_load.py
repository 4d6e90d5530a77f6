"""The state that did not load, by the text of a run's failure."""

from __future__ import annotations

import re
from typing import NamedTuple

from snapline.errors import CheckpointDamaged, hide_passwords

# The jar's text (StateRestore). Other damage has other texts: that of a cut's note, of a sink's files.
_LOAD = re.compile(re.escape(f"[{CheckpointDamaged.code}]") + r" Version (\d+) of the state in (.+?) is damaged: ")
_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(/.*)")
_PORT = re.compile(r":\d*$")


class DamagedLoad(NamedTuple):
    """A load that failed for damage.

    Attributes:
        text: the line that tells of it.
        version: the version that a store was to load: one more than the batch whose end it is of.
    """

    text: str
    version: int


def damaged_load(failure: Exception, location: str) -> DamagedLoad | None:
    """The damage that a failure tells of; None: it is none of this folder's own state.

    A function of the query may read other folders, whose damage is not that of the query's checkpoints.

    Args:
        failure: the run's error. Spark wraps that of a task: the message has the outermost text only.
        location: the checkpoint folder.
    """
    trace = getattr(failure, "_stackTrace", None) or ""
    for line in f"{failure}\n{trace}".splitlines():
        for found in _LOAD.finditer(line):
            if _holds(location, found[2]):
                return DamagedLoad(line.strip(), int(found[1]))
    return None


def _holds(location: str, store: str) -> bool:
    """Whether the folder of a store is one of the checkpoint folder."""
    *system, path = _parts(location)
    *of_store, folder = _parts(store)
    return system == of_store and folder.startswith(f"{path.rstrip('/')}/state/")


def _parts(location: str) -> tuple[str, str, str]:
    """File system, host and path. Hadoop's two interfaces differ in slashes, and in a port that is not named."""
    parsed = _URI.fullmatch(hide_passwords(location))
    if parsed is None:
        return "", "", location
    scheme, authority, path = parsed.groups()
    return (scheme or "file").lower(), _PORT.sub("", authority or ""), path
