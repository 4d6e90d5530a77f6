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

    `intervals`: None means that every batch is durable. `merging`: whether handles go into shared files.
    """

    format: int
    backend: str
    intervals: Sequence[float | None]
    merging: Sequence[bool]

    def work(self, folder: str, chance: random.Random, restarts: int = 0) -> Work:
        """With the settings of one life."""
        return Work(
            folder=folder,
            format=self.format,
            interval=chance.choice(self.intervals),
            retained=chance.randint(1, 3),
            backend=self.backend,
            merging=chance.choice(self.merging),
            restarts=restarts,
        )


MODES = {
    f"{name}-{backend}": Mode(version, backend, intervals, merging)
    for name, version, intervals, merging in (
        ("every-batch-1", 1, (None,), (False,)),
        ("mixed-2", 2, (None, *INTERVALS), (False, True)),
        ("merged-2", 2, INTERVALS, (True,)),
        ("interval-1", 1, INTERVALS, (False,)),
        ("mixed-1", 1, (None, *INTERVALS), (False, True)),
        ("every-batch-2", 2, (None,), (False,)),
    )
    for backend in ("rocksdb", "hashmap")
}
CHOSEN = os.environ.get("SNAPLINE_MODES", " ".join(MODES)).split()


def in_turn(chance: random.Random, at_once: int) -> Iterator[list[str]]:
    """Without end, so many of those chosen, or all; none comes again before every other has come."""
    turns = itertools.cycle(chance.sample(CHOSEN, len(CHOSEN)))
    while True:
        yield list(itertools.islice(turns, min(at_once, len(CHOSEN))))
