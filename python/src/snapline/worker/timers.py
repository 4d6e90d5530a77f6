"""Timers of an epoch: those that are due in a chunk, and changes for the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from snapline.errors import InvalidConfiguration
from snapline.state.cursor import BEFORE_ALL

REGISTER, DELETE = 0, 1

#: Time in ms, domain, slot: in the order in which timers fire. A plain tuple, since one is made at each registration.
Timer: TypeAlias = tuple[int, int, int]


class Timers:
    """The changes that functions make to timers.

    While a chunk of due timers is worked off, one that is registered within its bounds is fired with it: the operator
    has read the store past that time already.
    """

    def __init__(self) -> None:
        self._changes: dict[Timer, int] = {}
        # By domain: what is later is no matter of the chunk; what is not later than the limit is fired with it.
        self._last = [BEFORE_ALL, BEFORE_ALL]
        self._limits = [BEFORE_ALL, BEFORE_ALL]
        self._alive: set[Timer] = set()
        self._added: list[Timer] = []

    def register(self, slot: int, time: int, domain: int) -> None:
        timer = (time, domain, slot)
        if time > self._last[domain]:
            self._changes[timer] = REGISTER
        elif timer not in self._alive:
            if time <= self._limits[domain]:
                self._alive.add(timer)
                heappush(self._added, timer)
            else:
                self._changes[timer] = REGISTER

    def delete(self, slot: int, time: int, domain: int) -> None:
        timer = (time, domain, slot)
        if timer in self._alive:
            self._alive.remove(timer)
        elif time > self._limits[domain]:
            self._changes[timer] = DELETE

    def times(self, domain: int) -> list[int]:
        """
        Raises:
            InvalidConfiguration: always; ``ListedTimers`` keeps lists.
        """
        raise InvalidConfiguration(
            "list_timers() of a function that keeps no list of its timers.",
            "set lists_timers = True in its class; timers that were set before are not on the list.",
        )

    def change_all(self, slots: Any, times: Any, domain: int, operation: int) -> None:
        """Registers or deletes many; both are arrays of numpy."""
        change = self.register if operation == REGISTER else self.delete
        for slot, time in zip(slots.tolist(), times.tolist(), strict=True):
            change(slot, time, domain)

    def fire(self, chunk: Sequence[Timer], through: int, due: tuple[int, int]) -> Iterator[Timer]:
        """The timers of a chunk in order of time, with those that are registered and without those deleted meanwhile.

        Args:
            chunk: in order.
            through: the time up to which the chunk has all timers of its domains that the store has; it may have some
                of those that are a little later.
            due: the times up to which timers are due, of event time and of processing time.
        """
        for domain in {timer[1] for timer in chunk}:
            self._limits[domain] = min(through, due[domain])
            self._last[domain] = max(through, chunk[-1][0])
        self._alive = set(chunk)
        added = self._added
        at = 0
        while added or at < len(chunk):
            if added and (at == len(chunk) or added[0] < chunk[at]):
                timer = heappop(added)
            else:
                timer = chunk[at]
                at += 1
            if timer in self._alive:
                self._alive.remove(timer)
                yield timer
        self._limits = [BEFORE_ALL, BEFORE_ALL]
        self._last = [BEFORE_ALL, BEFORE_ALL]

    def __len__(self) -> int:
        return len(self._changes)

    def changes(self, schema: pa.Schema) -> pa.RecordBatch | None:
        """What the store has to do: slot, time, domain, op."""
        if not self._changes:
            return None
        times, domains, slots = zip(*self._changes, strict=True)
        columns = [slots, times, domains, tuple(self._changes.values())]
        arrays = [
            pa.array(np.array(column, np.int64)).cast(field.type) for column, field in zip(columns, schema, strict=True)
        ]
        return pa.record_batch(arrays, schema=schema)

    def reset(self) -> None:
        self._changes.clear()
