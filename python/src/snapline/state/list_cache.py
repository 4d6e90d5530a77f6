"""The worker's copy of a list state, by slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from snapline.state.source import Changes, Entry, StateSource, needs_index
from snapline.state.weight import average_weight

CLEAN, APPENDED, REWRITTEN = 0, 1, 2


class ListCache:
    """Lists of elements by slot: first what is stored, if it is here, then what was added.

    Attributes:
        values: the elements.
        dirty: nothing changed, elements added, or all written anew.
        stored: how many of the values are in the store.
        is_here: 0: the stored elements were not sent.
        grown: elements added in this epoch.
    """

    def __init__(self, source: StateSource) -> None:
        self.values: list[list[Any]] = []
        self.dirty = bytearray()
        self.stored: list[int] = []
        self.is_here = bytearray()
        self.grown = 0
        self._source = source

    def begin(self, count: int, is_here: bool) -> None:
        """Takes over the next slots, empty."""
        self.values.extend([] for _ in range(count))
        self.dirty.extend(bytes(count))
        self.stored.extend([0] * count)
        self.is_here.extend(bytes([is_here]) * count)

    def load(self, slots: Sequence[int], values: Sequence[Any], expiries: Sequence[int | None] | None) -> None:
        """The elements of slots that began just now, in their order."""
        lists = self.values
        for slot, value in zip(slots, values, strict=True):
            lists[slot].append(value)
        for slot in set(slots):
            self.stored[slot] = len(lists[slot])

    def not_sent(self, slots: Sequence[int]) -> None:
        for slot in slots:
            self.is_here[slot] = 0

    def pages(self, slot: int) -> Iterator[list[Entry]]:
        """The stored elements of a list that was not sent. One of a single page is kept from then on.

        The epoch is that of the call; nothing is fetched before the first page is asked for.
        """
        return self._pages(slot, self._source.scan(slot))

    def _pages(self, slot: int, scan: Iterator[tuple[list[Entry], bool]]) -> Iterator[list[Entry]]:
        try:
            for number, (page, more) in enumerate(scan):
                # Since the call another reader may have kept it, or the list may have been replaced.
                if number == 0 and not more and not self.is_here[slot]:
                    self._keep(slot, page)
                yield page
        finally:
            scan.close()  # type: ignore[attr-defined]

    def load_whole(self, slot: int) -> None:
        """Fetches the stored elements of a list that was not sent, whatever their number."""
        self._keep(slot, [entry for page, _ in self._source.scan(slot) for entry in page])

    def _keep(self, slot: int, stored: list[Entry]) -> None:
        self.values[slot][:0] = [entry.value for entry in stored]
        self.stored[slot] = len(stored)
        self.is_here[slot] = 1
        self.grown += len(stored)

    def rewrite(self, slot: int, values: list[Any]) -> None:
        self.grown += len(values) - len(self.values[slot])
        self.values[slot] = values
        self.dirty[slot] = REWRITTEN
        self.stored[slot] = 0
        self.is_here[slot] = 1

    def held(self) -> int:
        if self.grown <= 0:
            return 0
        changed = self.changed_slots()
        step = max(1, len(changed) // 4)
        return self.grown * average_weight([each for slot in changed[::step] for each in self.values[slot][-4:]])

    def changed_slots(self) -> list[int]:
        found: list[int] = np.flatnonzero(np.frombuffer(bytes(self.dirty), np.uint8)).tolist()
        return found

    def changes(self) -> Changes | None:
        slots: list[int] = []
        ops: list[int] = []
        values: list[Any] = []
        for slot in self.changed_slots():
            if self.dirty[slot] == REWRITTEN:
                slots.append(slot)
                ops.append(1)
                values.append(None)
            added = self.values[slot][self.stored[slot] :]
            slots.extend([slot] * len(added))
            ops.extend([0] * len(added))
            values.extend(added)
        return Changes(slots, ops, None, values, None, None) if slots else None

    def reset(self) -> None:
        self.values.clear()
        self.dirty.clear()
        self.stored.clear()
        self.is_here.clear()
        self.grown = 0


class TtlListCache(ListCache):
    """The same, with the expiry of each element."""

    def __init__(self, source: StateSource) -> None:
        super().__init__(source)
        self.expiries: list[list[int | None]] = []
        # The least expiry of what is stored: the list has an entry in the index that is not later.
        self._least: list[int | None] = []

    def begin(self, count: int, is_here: bool) -> None:
        super().begin(count, is_here)
        self.expiries.extend([] for _ in range(count))
        self._least.extend([None] * count)

    def load(self, slots: Sequence[int], values: Sequence[Any], expiries: Sequence[int | None] | None) -> None:
        super().load(slots, values, expiries)
        for slot, expiry in zip(slots, expiries or [None] * len(slots), strict=True):
            self.expiries[slot].append(expiry)
        for slot in set(slots):
            self._least[slot] = _least(self.expiries[slot])

    def _keep(self, slot: int, stored: list[Entry]) -> None:
        super()._keep(slot, stored)
        self.expiries[slot][:0] = [entry.expiry for entry in stored]
        self._least[slot] = _least([entry.expiry for entry in stored])

    def changes(self) -> Changes | None:
        found = super().changes()
        if found is None or found.ops is None:
            return None
        expiries: list[int | None] = []
        created: list[bool | None] = []
        for slot in self.changed_slots():
            if self.dirty[slot] == REWRITTEN:
                expiries.append(None)
                created.append(None)
            added = self.expiries[slot][self.stored[slot] :]
            expiries.extend(added)
            created.extend(needs_index(expiry, self._least[slot]) for expiry in added)
        return found._replace(expiries=expiries, created=created)

    def reset(self) -> None:
        super().reset()
        self.expiries.clear()
        self._least.clear()


def _least(expiries: Sequence[int | None]) -> int | None:
    return min((expiry for expiry in expiries if expiry is not None), default=None)
