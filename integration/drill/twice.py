"""What counts twice in the state of a query, by what its checkpoints say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from snapline.query import CheckpointChoice, CheckpointMetadata, LocalFiles, Recovery, read_checkpoint

#: (key, partition the store is of) -> rows
Rows = Counter[tuple[int, int]]


@dataclass
class Twice:
    """Follows a query from life to life. A run has what the checkpoint it began with had, and what was ahead in that.

    Attributes:
        files: keys of the rows of each input file, in order.
        of_run: what counts twice in the state of each run, as far as checkpoints name it.
    """

    checkpoint: Path
    files: Sequence[Sequence[int]]
    of_run: dict[str, Rows] = field(default_factory=dict)
    ahead: int = 0

    def begin(self) -> None:
        """Before a life: from which checkpoint it recovers, and what that costs."""
        self._files = LocalFiles(str(self.checkpoint))
        pending = Recovery(self._files).pending() if self.checkpoint.exists() else None
        self.resumes = pending is not None
        if pending is not None:
            base = read_checkpoint(self._files, pending.checkpoint) if pending.checkpoint > 0 else None
        else:
            base = CheckpointChoice(self._files).newest() if self.checkpoint.exists() else None
        self.base = base
        self.expected = Counter() if base is None else self._ahead(base)
        self.now = Counter() if base is None else self.of_run[base.run] + self.expected

    @property
    def has_new(self) -> bool:
        """Whether this life has taken a checkpoint."""
        newest = max(CheckpointChoice(self._files).numbers(), default=0)
        return newest > (0 if self.base is None else self.base.id)

    def end(self) -> None:
        """After it."""
        choice = CheckpointChoice(self._files)
        for number in choice.numbers():
            run = read_checkpoint(self._files, number).run
            self.of_run.setdefault(run, self.now)

    def _ahead(self, checkpoint: CheckpointMetadata) -> Rows:
        """Rows of later batches that its snapshots hold: every key of them, in each partition that is ahead."""
        found: Rows = Counter()
        for _, _, handle in checkpoint.handles():
            for batch in range(checkpoint.batch + 1, handle.ref.version):
                self.ahead += 1
                for file in range(self._reaches(batch - 1) + 1, self._reaches(batch) + 1):
                    found.update((key, handle.partition) for key in self.files[file])
        return found

    def _reaches(self, batch: int) -> int:
        """The last file that a batch or one before it has read; a recovery hides its entry."""
        if batch < 0:
            return -1
        for folder in ("offsets", "snapline/replay/offsets"):
            entry = self.checkpoint / folder / str(batch)
            if entry.exists():
                return int(json.loads(entry.read_text().splitlines()[2])["logOffset"])
        raise AssertionError(f"{self.checkpoint} has no entry of batch {batch}")
