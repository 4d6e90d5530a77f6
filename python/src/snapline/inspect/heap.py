"""The rows of a snapshot of the heap backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from snapline.format import HandleMeta, Operation
from snapline.format.frame import damaged
from snapline.format.rows import read_rows


class HeapSnapshot:
    """Holds all rows in memory, as the backend does.

    Raises:
        CheckpointDamaged: the files do not hold what the handle says.
    """

    def __init__(self, folder: Path, handle: HandleMeta) -> None:
        self._numbers = {family.name: family.id for family in handle.families}
        self._rows: dict[int, dict[bytes, bytes]] = {family.id: {} for family in handle.families}
        for name in sorted(table.name for table in handle.files):
            self._apply(folder / name)
        for family in handle.families:
            found = len(self._rows[family.id])
            if found != family.keys:
                raise damaged(
                    f"handle {handle.ref}", f"state {family.name} has {found} keys, and the handle names {family.keys}"
                )

    def __enter__(self) -> HeapSnapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.clear()

    def rows(self, family: str) -> Iterator[tuple[bytes, bytes]]:
        """In the order of their keys."""
        return iter(sorted(self._rows[self._numbers[family]].items()))

    def _apply(self, file: Path) -> None:
        for entry in read_rows(file):
            rows = self._rows.get(entry.family)
            if rows is None:
                raise damaged(file.name, f"it has rows of family {entry.family}")
            if entry.operation is Operation.DELETE:
                rows.pop(entry.key, None)
            else:
                rows[entry.key] = entry.value
