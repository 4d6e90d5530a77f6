"""The worker's copy of a value state, by slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from snapline.state.source import Changes, needs_index
from snapline.state.weight import average_weight


class ValueCache:
    """Lists by slot that live as long as the worker: handles keep them, and a reset only empties them."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.dirty = bytearray()

    def load(self, values: Sequence[Any], expiries: Sequence[int | None] | None) -> None:
        """Takes over the next slots; None is absent."""
        self.values.extend(values)
        self.dirty.extend(bytes(len(values)))

    def changed_slots(self) -> list[int]:
        found: list[int] = np.flatnonzero(np.frombuffer(bytes(self.dirty), np.uint8)).tolist()
        return found

    def held(self) -> int:
        """Bytes that the epoch has changed, roughly."""
        count = self.dirty.count(1)
        if not count:
            return 0
        step = max(1, count // 16)
        slots = self.changed_slots()
        return count * average_weight([self.values[slot] for slot in slots[::step]])

    def changes(self) -> Changes | None:
        slots = self.changed_slots()
        values = self.values
        return Changes(slots, None, None, [values[slot] for slot in slots], None, None) if slots else None

    def reset(self) -> None:
        self.values.clear()
        self.dirty.clear()


class TtlValueCache(ValueCache):
    """The same, with expiries."""

    def __init__(self) -> None:
        super().__init__()
        self.expiries: list[int | None] = []
        self._stored: list[int | None] = []

    def load(self, values: Sequence[Any], expiries: Sequence[int | None] | None) -> None:
        super().load(values, expiries)
        self.expiries.extend(expiries if expiries is not None else [None] * len(values))
        self._stored.extend(self.expiries[len(self._stored) :])

    def changes(self) -> Changes | None:
        found = super().changes()
        if found is None:
            return None
        expiries = [self.expiries[slot] for slot in found.slots]
        created = [needs_index(expiry, self._stored[slot]) for slot, expiry in zip(found.slots, expiries, strict=True)]
        return found._replace(expiries=expiries, created=created)

    def reset(self) -> None:
        super().reset()
        self.expiries.clear()
        self._stored.clear()
