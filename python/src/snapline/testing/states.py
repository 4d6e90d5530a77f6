"""One state in the store of the operator without Spark: reads for the worker, applies what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from snapline.state.cursor import BatchTime
from snapline.state.spec import StateSpec
from snapline.state.ttl import TtlTime
from snapline.testing.store import Store, unpickled_key
from snapline.worker.decode import decoder
from snapline.worker.encode import encoder
from snapline.worker.frames import NOT_SENT_PART, STATE_PART, message_of

Part = tuple[int, pa.Buffer]


class StoredState:
    """Stored are: (value, expiry), a list of such, or by the text of each key of a map the key and such."""

    def __init__(self, index: int, spec: StateSpec, schemas: dict[int, pa.Schema], store: Store, limit: int) -> None:
        self.spec = spec
        self._index = index
        self._schemas = schemas
        self._store = store
        self._limit = limit
        self._ttl_index = f"$ttl_{spec.name}"

    def get(self, key: Any) -> Any:
        return self._store.get(self.spec.name, key)

    def read_ahead(self, first: int, keys: Sequence[Any], *, with_timers: bool = False) -> list[Part]:
        """The state that travels with the chunk in which these slots begin."""
        if self.spec.entry is not None:
            return []
        found = [(first + i, self.get(key)) for i, key in enumerate(keys)]
        if self.spec.kind == "value":
            pairs = [stored or (None, None) for _, stored in found]
            return [self._part([], [], pairs)] if pairs else []
        travels = self.spec.travels(with_timers=with_timers)
        missing = [slot for slot, stored in found if not travels or len(stored or ()) > self._limit]
        slots, map_keys, pairs = [], [], []
        for slot, stored in found:
            if stored is None or slot in missing:
                continue
            for map_key, pair in self._entries(stored):
                slots.append(slot)
                map_keys.append(map_key)
                pairs.append(pair)
        parts = [self._part(slots, map_keys, pairs)] if slots else []
        if missing:
            batch = pa.record_batch([pa.array(missing, pa.int32())], schema=self._schemas[NOT_SENT_PART + self._index])
            parts.append((NOT_SENT_PART + self._index, message_of(batch)))
        return parts

    def read_named(self, wanted: Sequence[tuple[int, Any, Any]]) -> list[Part]:
        """The entries that rows name: slot, key, key in the map."""
        if not wanted:
            return []
        found = [self._entry(self.get(key), map_key) for _, key, map_key in wanted]
        pairs = [pair or (None, None) for pair in found]
        present = [pair is not None for pair in found]
        return [self._part([slot for slot, _, _ in wanted], [each for _, _, each in wanted], pairs, present)]

    def named(self, key: Any, map_keys: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Those of these entries of a map that exist."""
        stored = self.get(key)
        found = [(map_key, self._entry(stored, map_key)) for map_key in map_keys]
        return [(map_key, pair) for map_key, pair in found if pair is not None]

    def all_of(self, key: Any) -> list[tuple[Any, Any]]:
        """Entries of a list (without keys) or map: for a scan."""
        stored = self.get(key)
        return [] if stored is None else self._entries(stored)

    def page(self, slot: int, entries: Sequence[tuple[Any, Any]]) -> list[Part]:
        slots = [slot] * len(entries)
        pairs = [pair for _, pair in entries]
        return [self._part(slots, [each for each, _ in entries], pairs, [True] * len(slots))] if slots else []

    def _entries(self, stored: Any) -> list[tuple[Any, Any]]:
        if self.spec.kind == "list":
            return [(None, pair) for pair in stored]
        return [(unpickled_key(map_key), pair) for map_key, pair in stored.values()]

    def _entry(self, stored: Any, map_key: Any) -> Any:
        # Not by the key itself: a pickle of it has forgotten what makes it equal to that of the same bytes alone.
        return (stored or {}).get(repr(map_key), (None, None))[1]

    def _part(
        self, slots: Sequence[int], keys: Sequence[Any], pairs: Sequence[Any], present: Sequence[bool] | None = None
    ) -> Part:
        schema = self._schemas[STATE_PART + self._index]
        columns = {
            "slot": slots,
            "k": keys,
            "p": present,
            "v": [value for value, _ in pairs],
            "x": [expiry for _, expiry in pairs],
        }
        arrays = [encoder(field.type)(columns[field.name] or []) for field in schema]
        return STATE_PART + self._index, message_of(pa.record_batch(arrays, schema=schema))

    def apply(self, batch: pa.RecordBatch, keys: Sequence[Any]) -> None:
        """Changes of an epoch. One per key of a value, one per entry of a map, a clear before all else of a slot."""
        columns = {
            field.name: decoder(field.type, as_key=field.name == "k")(batch.column(i))
            for i, field in enumerate(batch.schema)
        }
        count = batch.num_rows
        nothing = [None] * count
        rows = zip(
            columns["slot"],
            columns.get("op", nothing),
            columns.get("k", nothing),
            columns["v"],
            columns.get("x", nothing),
            columns.get("c", nothing),
            strict=True,
        )
        for slot, op, map_key, value, expiry, created in rows:
            self._apply(keys[slot], op, map_key, (value, expiry), created)

    def _apply(self, key: Any, op: int | None, map_key: Any, pair: tuple[Any, Any], created: bool | None) -> None:
        name, store = self.spec.name, self._store
        if self.spec.kind == "value":
            is_write = pair[0] is not None
            if is_write:
                store.put(name, key, pair)
            else:
                store.delete(name, key)
        elif self.spec.kind == "list":
            is_write = op == 0
            if is_write:
                store.put(name, key, [*(self.get(key) or []), pair])
            else:
                store.delete(name, key)
        else:
            is_write = op == 0
            entries = {} if op == 2 else self.get(key) or {}
            if is_write:
                entries[repr(map_key)] = (map_key, pair)
            else:
                entries.pop(repr(map_key), None)
            if entries:
                store.put(name, key, entries)
            else:
                store.delete(name, key)
        if is_write and self.spec.ttl is not None and created:
            store.put(self._ttl_index, (pair[1], key, map_key), True)

    def clean_up(self, time: BatchTime) -> None:
        """Deletes what has expired, by the index only: every entry of it is not later than the real expiry."""
        if self.spec.ttl is None:
            return
        now = time.watermark if self.spec.ttl.time is TtlTime.EVENT_TIME else time.processing
        for (expiry, key, map_key), _ in list(self._store.items(self._ttl_index)):
            if now is None or expiry > now:
                continue
            self._store.delete(self._ttl_index, (expiry, key, map_key))
            real = self._expire(key, map_key, now)
            if real is not None:
                self._store.put(self._ttl_index, (real, key, map_key), True)

    def _expire(self, key: Any, map_key: Any, now: int) -> int | None:
        """Deletes one value if it has expired; otherwise gives its expiry."""
        stored = self.get(key)
        if stored is None:
            return None
        if self.spec.kind == "list":
            left = [pair for pair in stored if pair[1] > now]
            if left:
                self._store.put(self.spec.name, key, left)
                return min(int(pair[1]) for pair in left)
            self._store.delete(self.spec.name, key)
            return None
        pair: tuple[Any, int] | None = self._entry(stored, map_key) if self.spec.kind == "map" else stored
        if pair is None:
            return None
        if pair[1] > now:
            return pair[1]
        self._apply(key, 1, map_key, (None, None), None)
        return None
