"""Notes in a checkpoint folder of how many partitions the batches of a sink have (docs/FORMAT.md, section 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from snapline.folder.files import Files

_FOLDER = "snapline/sinks"
_NOTE = re.compile(r"([0-9]+)-([0-9]+)")


class PartitionNotes:
    """Empty files ``<batch>-<partitions>``: the batch was begun with so many partitions, and each later one without a
    note as well.

    A sink has markers of its partitions only, and nobody knows of a partition beyond those that a batch has now.
    The notes are the driver's. It makes one before the tasks of the batch, and then deletes those of earlier batches.
    """

    def __init__(self, files: Files, sink: str) -> None:
        """``sink``: its name in the query."""
        self._files = files
        # No name leads out of the folder, and none is hidden.
        self._folder = f"{_FOLDER}/{quote(sink, safe='').replace('.', '%2E')}"

    def begun_with(self, batch: int) -> set[int]:
        """All numbers of partitions with which a batch may have been begun; empty: nothing is noted.

        There are several if the batch came again, in another number of partitions, while the sink had none of it.
        """
        notes = [note for note in self._notes() if note[0] <= batch]
        newest = max((number for number, _ in notes), default=None)
        return {partitions for number, partitions in notes if number == newest}

    def add(self, batch: int, partitions: int) -> None:
        """Notes that the batch is begun. Those of earlier batches go when the new one is there."""
        notes = list(self._notes())
        if (batch, partitions) not in notes:
            self._files.write_new(f"{self._folder}/{batch}-{partitions}", b"")
        for number, of_number in notes:
            if number < batch:
                self._files.delete(f"{self._folder}/{number}-{of_number}")

    def _notes(self) -> Iterator[tuple[int, int]]:
        for name in self._files.list(self._folder):
            found = _NOTE.fullmatch(name)
            if found is not None:
                yield int(found[1]), int(found[2])
