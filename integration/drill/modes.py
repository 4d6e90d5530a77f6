"""The modes that a query may be in.

SNAPLINE_MODES: some of them.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .work import Work

INTERVALS = (0.3, 1, 2, 4)


@dataclass(frozen=True)
class Mode:
    """The format of Spark's checkpoints, the state backend, and what each life gets one of.

    `intervals`: None means that every batch is durable. `merging`: whether handles go into shared files. `uploads`:
    whether changelogs go to storage behind the batches.
    """

    format: int
    backend: str
    intervals: Sequence[float | None]
    merging: Sequence[bool]
    uploads: Sequence[bool] = (False,)

    def work(self, folder: str, chance: random.Random, restarts: int = 0) -> Work:
        """With the settings of one life."""
        return Work(
            folder=folder,
            format=self.format,
            interval=chance.choice(self.intervals),
            retained=chance.randint(1, 3),
            backend=self.backend,
            merging=chance.choice(self.merging),
            uploads=chance.choice(self.uploads),
            restarts=restarts,
        )


MODES = {
    f"{name}-{backend}": Mode(version, backend, intervals, merging, uploads)
    for name, version, intervals, merging, uploads in (
        ("every-batch-1", 1, (None,), (False,), (False,)),
        ("mixed-2", 2, (None, *INTERVALS), (False, True), (False, True)),
        ("merged-2", 2, INTERVALS, (True,), (False, True)),
        ("interval-1", 1, INTERVALS, (False,), (False, True)),
        ("mixed-1", 1, (None, *INTERVALS), (False, True), (False,)),
        ("every-batch-2", 2, (None,), (False,), (False,)),
        ("uploads-2", 2, (4, 3600), (False, True), (True,)),
    )
    for backend in ("rocksdb", "hashmap")
}
CHOSEN = os.environ.get("SNAPLINE_MODES", " ".join(MODES)).split()


def in_turn(chance: random.Random, at_once: int) -> Iterator[list[str]]:
    """Without end, so many of those chosen, or all; none comes again before every other has come."""
    turns = itertools.cycle(chance.sample(CHOSEN, len(CHOSEN)))
    while True:
        yield list(itertools.islice(turns, min(at_once, len(CHOSEN))))
