"""The worker's copy of a map state, by slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from snapline.state.source import Changes, Entry, StateSource, needs_index
from snapline.state.weight import average_weight


class MapCache:
    """Dicts by slot with the entries that are known to exist.

    Attributes:
        entries: what exists, as far as it is here.
        is_whole: 1: what is not in ``entries`` does not exist.
        changed: the keys put or removed in this epoch, or None. One that is not in ``entries`` has been removed.
        grown: entries put in this epoch, or fetched.
    """

    def __init__(self, source: StateSource) -> None:
        self.entries: list[dict[Any, Any]] = []
        self.is_whole = bytearray()
        self.changed: list[set[Any] | None] = []
        self.grown = 0
        self._absent: dict[int, set[Any]] = {}
        self._cleared: set[int] = set()
        self._source = source

    def begin(self, count: int, is_whole: bool) -> None:
        """Takes over the next slots, empty."""
        self.entries.extend({} for _ in range(count))
        self.is_whole.extend(bytes([is_whole]) * count)
        self.changed.extend([None] * count)

    def load(
        self, slots: Sequence[int], keys: Sequence[Any], values: Sequence[Any], expiries: Sequence[int | None] | None
    ) -> None:
        """The entries of slots that began just now."""
        entries = self.entries
        for slot, key, value in zip(slots, keys, values, strict=True):
            entries[slot][key] = value

    def load_named(
        self,
        slots: Sequence[int],
        keys: Sequence[Any],
        present: Sequence[bool],
        values: Sequence[Any],
        expiries: Sequence[int | None] | None,
    ) -> None:
        """Entries that rows name, of slots that may have begun long ago: what was changed meanwhile wins."""
        times = expiries if expiries is not None else [None] * len(slots)
        for slot, key, is_there, value, expiry in zip(slots, keys, present, values, times, strict=True):
            if self.is_whole[slot] or key in (self.changed[slot] or ()):
                continue
            if is_there:
                self._take(slot, Entry(key, value, expiry))
            else:
                self._absent.setdefault(slot, set()).add(key)

    def not_sent(self, slots: Sequence[int]) -> None:
        for slot in slots:
            self.is_whole[slot] = 0

    def find(self, slot: int, key: Any) -> bool:
        """Whether an entry exists that is not in ``entries`` yet; from then on it is."""
        if self.is_whole[slot] or key in (self.changed[slot] or ()) or key in self._absent.get(slot, ()):
            return False
        return bool(self.find_all(slot, [key]))

    def find_all(self, slot: int, keys: Sequence[Any]) -> list[Any]:
        """Fetches, at once, those of these entries that are not known; gives the keys of those that exist."""
        changed = self.changed[slot] or ()
        absent = self._absent.setdefault(slot, set())
        known = self.entries[slot]
        wanted = [key for key in keys if key not in known and key not in changed and key not in absent]
        if not wanted or self.is_whole[slot]:
            return []
        found = self._source.entries(slot, wanted)
        for entry in found:
            self._take(slot, entry)
        absent.update(key for key in wanted if key not in known)
        self.grown += len(wanted)
        return [entry.key for entry in found]

    def _take(self, slot: int, entry: Entry) -> None:
        self.entries[slot][entry.key] = entry.value

    def all_of(self, slot: int) -> Iterator[Entry]:
        """The entries that a whole map has at the call, without those removed before it is their turn."""
        return self._still_there(slot, list(self.entries[slot]), self._source.epoch)

    def stream(self, slot: int) -> Iterator[Entry]:
        """The same of a map that is not whole: the stored entries as they come, then those put before the call.

        A map of a single page is kept, and is whole from then on.
        """
        # A generator would take note of the changes when it is asked for an entry, and not at the call.
        own = set(self.changed[slot] or ())
        put = [key for key in own if key in self.entries[slot]]
        epoch = self._source.epoch
        stored = self._stored_but(slot, own, self._source.scan(slot), epoch)
        return chain(stored, self._still_there(slot, put, epoch))

    def _stored_but(
        self, slot: int, own: set[Any], scan: Iterator[tuple[list[Entry], bool]], epoch: int
    ) -> Iterator[Entry]:
        """The stored entries, without those of these keys and those removed before it is their turn."""
        try:
            for number, (page, more) in enumerate(scan):
                # Since the call another reader may have kept it, or the map may have been cleared.
                if number == 0 and not more and not self.is_whole[slot]:
                    self._keep(slot, page)
                for entry in page:
                    self._check(epoch)
                    if entry.key in own:
                        continue
                    if entry.key in self.entries[slot]:
                        yield self._entry(slot, entry.key)
                    elif not self.is_whole[slot] and entry.key not in (self.changed[slot] or ()):
                        yield entry
        finally:
            scan.close()  # type: ignore[attr-defined]

    def _still_there(self, slot: int, keys: Sequence[Any], epoch: int) -> Iterator[Entry]:
        for key in keys:
            self._check(epoch)
            if key in self.entries[slot]:
                yield self._entry(slot, key)

    def _check(self, epoch: int) -> None:
        """Raises if the slots are of other keys by now."""
        if epoch != self._source.epoch:
            raise self._source.too_late()

    def _entry(self, slot: int, key: Any) -> Entry:
        return Entry(key, self.entries[slot][key], None)

    def _keep(self, slot: int, page: list[Entry]) -> None:
        changed = self.changed[slot] or ()
        for entry in page:
            if entry.key not in changed:
                self._take(slot, entry)
        self.grown += len(page)
        self.is_whole[slot] = 1

    def write(self, slot: int, key: Any, value: Any) -> None:
        self.entries[slot][key] = value
        changed = self.changed[slot]
        if changed is None:
            changed = self.changed[slot] = set()
        if key not in changed:
            changed.add(key)
            self.grown += 1

    def clear(self, slot: int) -> None:
        self.entries[slot].clear()
        self.changed[slot] = None
        self.is_whole[slot] = 1
        self._cleared.add(slot)

    def held(self) -> int:
        if not self.grown:
            return 0
        sample: list[Any] = []
        for slot in range(0, len(self.entries), max(1, len(self.entries) // 16)):
            sample.extend(islice(self.entries[slot].items(), 2))
        return self.grown * average_weight(sample)

    def changes(self) -> Changes | None:
        slots = list(self._cleared)
        ops = [2] * len(slots)
        keys: list[Any] = [None] * len(slots)
        values: list[Any] = [None] * len(slots)
        for slot, changed in enumerate(self.changed):
            if changed is None:
                continue
            entries = self.entries[slot]
            put = [key for key in changed if key in entries]
            # After a clear there is nothing left to remove.
            gone = [] if len(put) == len(changed) or slot in self._cleared else changed.difference(put)
            slots += [slot] * (len(put) + len(gone))
            ops += [0] * len(put) + [1] * len(gone)
            keys += put
            keys += gone
            values += [entries[key] for key in put]
            values += [None] * len(gone)
        return Changes(slots, ops, keys, values, None, None) if slots else None

    def reset(self) -> None:
        self.entries.clear()
        self.is_whole.clear()
        self.changed.clear()
        self.grown = 0
        self._absent.clear()
        self._cleared.clear()


class TtlMapCache(MapCache):
    """The same, with the expiry of each entry."""

    def __init__(self, source: StateSource) -> None:
        super().__init__(source)
        self.expiries: list[dict[Any, int | None]] = []
        self._stored: list[dict[Any, int | None]] = []

    def begin(self, count: int, is_whole: bool) -> None:
        super().begin(count, is_whole)
        self.expiries.extend({} for _ in range(count))
        self._stored.extend({} for _ in range(count))

    def load(
        self, slots: Sequence[int], keys: Sequence[Any], values: Sequence[Any], expiries: Sequence[int | None] | None
    ) -> None:
        times = expiries if expiries is not None else [None] * len(slots)
        for slot, key, value, expiry in zip(slots, keys, values, times, strict=True):
            self._take(slot, Entry(key, value, expiry))

    def _take(self, slot: int, entry: Entry) -> None:
        super()._take(slot, entry)
        self.expiries[slot][entry.key] = entry.expiry
        self._stored[slot][entry.key] = entry.expiry

    def _entry(self, slot: int, key: Any) -> Entry:
        return Entry(key, self.entries[slot][key], self.expiries[slot][key])

    def changes(self) -> Changes | None:
        found = super().changes()
        if found is None or found.keys is None or found.ops is None:
            return None
        expiries: list[int | None] = []
        created: list[bool | None] = []
        for slot, op, key in zip(found.slots, found.ops, found.keys, strict=True):
            expiry = self.expiries[slot][key] if op == 0 else None
            expiries.append(expiry)
            created.append(needs_index(expiry, self._stored[slot].get(key)) if op == 0 else None)
        return found._replace(expiries=expiries, created=created)

    def reset(self) -> None:
        super().reset()
        self.expiries.clear()
        self._stored.clear()
