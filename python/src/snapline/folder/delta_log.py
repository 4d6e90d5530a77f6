"""The log of a Delta table, as far as it says which batches of a query the table has.

Delta's sink notes the query's id and the batch with each commit (action ``txn``), and passes over a batch it has noted.
"""

from __future__ import annotations

import json
import re

from snapline.folder.files import Files

_LOG = "_delta_log"
_COMMIT = re.compile(r"\d{20}\.json")
# A batch that lacks its entry in Spark's log is the query's newest: only what others have written since is after it.
_FAR_ENOUGH = 1000


class DeltaLog:
    """Reads only. Any folder will do: one that is no Delta table has no batch."""

    def __init__(self, table: Files) -> None:
        self._table = table

    def newest_batch(self, query: str) -> int | None:
        """The newest batch of the query with this id.

        Raises:
            StorageFailure: the file system refused.
        """
        commits = [name for name in self._table.list(_LOG) if _COMMIT.fullmatch(name)]
        for name in reversed(commits[-_FAR_ENOUGH:]):
            for line in self._table.read(f"{_LOG}/{name}").decode("utf-8", "replace").splitlines():
                batch = _batch(line, query)
                if batch is not None:
                    return batch
        return None


def _batch(line: str, query: str) -> int | None:
    """The batch that an action names for the query; None if it names none."""
    if '"txn"' not in line:
        return None
    try:
        note = json.loads(line).get("txn")
    except (ValueError, AttributeError, RecursionError):
        return None
    if not isinstance(note, dict) or note.get("appId") != query or type(note.get("version")) is not int:
        return None
    return int(note["version"])
