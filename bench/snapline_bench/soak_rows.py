"""The rows of the soak, and what has to come of them, computed without Spark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Seconds of event time; a micro-batch is one second. At 0 the watermark begins, and a row there would be late.
FIRST = 1_000
WINDOW = 10
DELAY = 5
GAP = 10
TTL = 20
BUCKETS = 50

Row = tuple[int, int, int, int, int]
"""Start of the window, bucket, rows, sum of their numbers within the burst, how many were the first of a key."""


@dataclass(frozen=True)
class Bursts:
    """
    Keys come in groups. A group has rows in `burst` micro-batches, none in those of the other groups, and then again:
    longer than gap and time to live, so that each burst finds nothing of the one before. What comes of the rows does
    then not depend on the micro-batch in which a timer fires.
    """

    rows: int = 2_000
    keys: int = 4_000
    groups: int = 15
    burst: int = 3

    def __post_init__(self) -> None:
        assert self.keys % self.rows == 0, "a key has one row in a micro-batch at most"
        assert self.burst * (self.groups - 1) > TTL + DELAY + WINDOW
        assert self.burst < GAP

    def sql(self) -> dict[str, str]:
        """Columns out of the number of the row, `value`; what `expected` computes."""
        second = f"(value div {self.rows})"
        group = f"({second} div {self.burst} % {self.groups})"
        return {
            "key": f"{group} * {self.keys} + value % {self.keys}",
            "time": f"timestamp_seconds({FIRST} + {second})",
        }

    def keys_at(self, second: int) -> np.ndarray:
        values = np.arange(second * self.rows, (second + 1) * self.rows)
        return second // self.burst % self.groups * self.keys + values % self.keys

    def expected(self, seconds: int) -> dict[tuple[int, int], Row]:
        """All windows of the first so many micro-batches, by start and bucket; the last may be cut."""
        found: dict[tuple[int, int], Row] = {}
        for start in range(0, seconds, WINDOW):
            sums = np.zeros((BUCKETS, 3), np.int64)
            for second in range(start, min(start + WINDOW, seconds)):
                keys = self.keys_at(second)
                numbers = self._numbers(second, keys)
                of_bucket = np.stack([np.ones_like(numbers), numbers, numbers == 1], axis=1)
                np.add.at(sums, keys % BUCKETS, of_bucket)
            for bucket in np.flatnonzero(sums[:, 0]):
                place = FIRST + start, int(bucket)
                found[place] = (*place, *map(int, sums[bucket]))
        return found

    def _numbers(self, second: int, keys: np.ndarray) -> np.ndarray:
        """How many rows each of these keys has had in the burst that is under way, this one counted."""
        begun = second // self.burst * self.burst
        counted = np.zeros(self.groups * self.keys, np.int64)
        for each in range(begun, second + 1):
            counted[self.keys_at(each)] += 1
        return counted[keys]


def differences(found: list[Row], bursts: Bursts, batches: int) -> list[str]:
    """What is wrong with the output of so many micro-batches; nothing: each window that must be closed is there once,
    none twice, and all are right to the row."""
    expected = bursts.expected(batches)
    seen = {row[:2]: row for row in found}
    wrong = [f"{len(found) - len(seen)} windows twice"] if len(seen) != len(found) else []
    wrong += [f"{row} instead of {expected.get(place)}" for place, row in seen.items() if expected.get(place) != row]
    # The last micro-batch saw the time of the one before, less the delay; the operator behind sees it later by one.
    closed = FIRST + batches - 3 - DELAY
    missing = [place for place in expected if place[0] + WINDOW <= closed and place not in seen]
    return wrong + [f"no window {place}" for place in missing]
