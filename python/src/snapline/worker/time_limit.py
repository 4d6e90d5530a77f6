"""The time a task has for the rows of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

_T = TypeVar("_T")


class TimeLimit:
    """Runs from its making.

    Attributes:
        processed: rows that were handed on so far.
    """

    def __init__(self, milliseconds: int) -> None:
        self._until = monotonic() + milliseconds / 1000
        self.processed = 0

    @property
    def is_over(self) -> bool:
        """Whether no row is to be begun any more. The first one always is, so that there is progress."""
        return self.processed > 0 and monotonic() >= self._until

    def begins(self) -> bool:
        """Whether there is time for another row, which counts as processed from here on."""
        if self.is_over:
            return False
        self.processed += 1
        return True

    def within(self, rows: Iterable[_T]) -> Iterator[_T]:
        """Rows as long as there is time."""
        until = self._until
        for row in rows:
            if self.processed and monotonic() >= until:
                return
            self.processed += 1
            yield row
