"""What a drill has done, for the table that `integration/run drills` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Tally:
    """Of one test. What it has counted when it fails stays.

    Attributes:
        modes: in which this test harms queries: formats, backends, intervals, sinks.
        kills: processes that were ended or stopped by a signal.
        faults: what the queries of one mode came through, with the right rows afterwards. A kill that hits the queries
            of twelve modes is twelve.
        rows: of output and state that were found and compared.
        wrong: rows that are missing, are not to be there, or are others.
    """

    modes: int = 1
    kills: int = 0
    faults: int = 0
    rows: int = 0
    wrong: int = 0

    def compare(self, what: str, found: Iterable[object], *wanted: Iterable[object]) -> None:
        """With each of what is wanted, in whatever order.

        Raises:
            AssertionError: they are not the same rows.
        """
        there = Counter(map(repr, found))
        self.rows += sum(there.values())
        for each in wanted:
            due = Counter(map(repr, each))
            missing, surplus = list((due - there).elements()), list((there - due).elements())
            self.wrong += max(len(missing), len(surplus))
            assert not missing, f"{what}: {len(missing)} of {sum(due.values())} rows are missing, as {missing[0]}"
            assert not surplus, f"{what}: {len(surplus)} rows are not to be there, as {surplus[0]}"
