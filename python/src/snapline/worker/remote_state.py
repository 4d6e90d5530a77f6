"""One state on the wire: loads a cache from what was sent, fetches what was not, and sends what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa

from snapline.functions.errors import FunctionFailed
from snapline.state.handles import Cache, make_cache
from snapline.state.list_cache import ListCache
from snapline.state.map_cache import MapCache
from snapline.state.source import Changes, Entry
from snapline.state.spec import StateSpec
from snapline.state.weight import average_weight
from snapline.worker.decode import decoder
from snapline.worker.encode import ColumnEncoder
from snapline.worker.frames import (
    CHANGES_PART,
    NOT_SENT_PART,
    STATE_PART,
    Frame,
    ToOperator,
    ToWorker,
    Transport,
    message_of,
)
from snapline.worker.pickles import kept_pickles, pickle_all
from snapline.worker.pieces import pieces

#: Changes of one state in one frame.
_MAX_ROWS = 100_000


class RemoteState:
    """The state number ``index`` of the function; also what its cache fetches from."""

    def __init__(
        self,
        index: int,
        spec: StateSpec,
        schemas: dict[int, pa.Schema],
        transport: Transport,
        requests: Iterator[int],
        most_bytes: int,
    ) -> None:
        self.index = index
        self.spec = spec
        self._transport = transport
        self._requests = requests
        self.epoch = 0
        self._open_scans: set[int] = set()
        self._state = schemas[STATE_PART + index]
        self._changes = schemas[CHANGES_PART + index]
        self._schemas = schemas
        self._most_bytes = most_bytes
        names = self._state.names
        self._decode_value = kept_pickles if spec.pickled else decoder(self._state.field("v").type)
        self._decode_key = decoder(self._state.field("k").type, as_key=True) if "k" in names else None
        what = f"state {spec.name}"
        self._encode_value: Callable[[Sequence[Any]], pa.Array] = (
            pickle_all if spec.pickled else ColumnEncoder(f"the value of {what}", self._changes.field("v").type)
        )
        self._encode_key = ColumnEncoder(f"the key of {what}", self._changes.field("k").type) if "k" in names else None
        self.cache: Cache = make_cache(spec, self)

    def load(self, frame: Frame, count: int) -> None:
        """Takes over the next ``count`` slots, and what the frame has of this state."""
        cache = self.cache
        batch = frame.batch(STATE_PART + self.index, self._schemas)
        travels = self.spec.travels(with_timers=frame.kind == ToWorker.TIMERS)
        if isinstance(cache, MapCache):
            cache.begin(count, travels and self.spec.entry is None)
        elif isinstance(cache, ListCache):
            cache.begin(count, travels)
        elif batch is None:
            cache.load([None] * count, None)
        if batch is not None and (batch.num_rows or not isinstance(cache, (ListCache, MapCache))):
            self._load(batch)
        missing = frame.batch(NOT_SENT_PART + self.index, self._schemas)
        if missing is not None and isinstance(cache, (ListCache, MapCache)):
            cache.not_sent(missing.column(0).to_pylist())

    def _load(self, batch: pa.RecordBatch) -> None:
        cache = self.cache
        values = self._decode_value(batch.column("v"))
        expiries = batch.column("x").to_pylist() if self.spec.ttl else None
        if isinstance(cache, MapCache) and self._decode_key is not None:
            slots = batch.column("slot").to_numpy().tolist()
            keys = self._decode_key(batch.column("k"))
            if self.spec.entry is not None:
                cache.load_named(slots, keys, batch.column("p").to_pylist(), values, expiries)
            else:
                cache.load(slots, keys, values, expiries)
        elif isinstance(cache, ListCache):
            cache.load(batch.column("slot").to_numpy().tolist(), values, expiries)
        elif not isinstance(cache, MapCache):
            cache.load(values, expiries)

    def entries(self, slot: int, keys: Sequence[Any]) -> list[Entry]:
        found: list[Entry] = []
        answered = 0
        step = self._rows_of(keys)
        while answered < len(keys):
            frame = self._ask(slot, keys[answered : answered + step])
            found += self._entries_of(frame)
            # A large state comes in several answers.
            answered += frame.meta["answered"]
        return found

    def _ask(self, slot: int, keys: Sequence[Any]) -> Frame:
        assert self._encode_key is not None
        columns = {"slot": pa.array([slot] * len(keys), pa.int32()), "k": self._encode_key(keys)}
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(len(keys), field.type) for field in self._state
        ]
        message = message_of(pa.record_batch(arrays, schema=self._state))
        meta = {"request": next(self._requests), "state": self.index, "slot": slot, "what": "entries"}
        return self._transport.fetch(meta, [(STATE_PART + self.index, message)])

    def _rows_of(self, values: Sequence[Any]) -> int:
        """How many of them go into one frame, going by a few."""
        return max(1, min(_MAX_ROWS, self._most_bytes // average_weight(values)))

    def scan(self, slot: int) -> Iterator[tuple[list[Entry], bool]]:
        return self._pages(slot, self.epoch)

    def _pages(self, slot: int, epoch: int) -> Iterator[tuple[list[Entry], bool]]:
        # The first page is asked for when the function begins to iterate, which may be late, too.
        self._check(epoch)
        request = next(self._requests)
        meta = {"request": request, "state": self.index, "slot": slot, "what": "scan"}
        frame = self._transport.fetch(meta, [])
        self._open_scans.add(request)
        try:
            while frame.meta["more"]:
                yield self._entries_of(frame), True
                self._check(epoch)
                frame = self._transport.fetch({**meta, "next": True}, [])
            self._open_scans.discard(request)
            yield self._entries_of(frame), False
        finally:
            self._close_scan(meta)

    def _check(self, epoch: int) -> None:
        if epoch != self.epoch:
            raise self.too_late()

    def too_late(self) -> Exception:
        return FunctionFailed(
            f"an iteration over state {self.spec.name} went on after its micro-batch or part of one.",
            "iterate within the call that began to.",
        )

    def _close_scan(self, meta: dict[str, Any]) -> None:
        if meta["request"] in self._open_scans:
            self._open_scans.discard(meta["request"])
            self._transport.send(ToOperator.FETCH, {**meta, "close": True}, [])

    def _entries_of(self, frame: Frame) -> list[Entry]:
        batch = frame.batch(STATE_PART + self.index, self._schemas)
        if batch is None:
            return []
        if "p" in batch.schema.names:
            batch = batch.filter(batch.column("p"))
        keys: Any = repeat(None) if self._decode_key is None else self._decode_key(batch.column("k"))
        expiries: Any = batch.column("x").to_pylist() if self.spec.ttl else repeat(None)
        return list(map(Entry, keys, self._decode_value(batch.column("v")), expiries))

    def flush(self) -> Iterator[tuple[int, pa.Buffer]]:
        """Parts with what the epoch changed; then the cache is empty."""
        self.epoch += 1
        for request in sorted(self._open_scans):
            self._close_scan({"request": request, "state": self.index, "what": "scan"})
        changes = self.cache.changes()
        if changes is not None:
            rows = self._rows_of(changes.values)
            for start in range(0, len(changes.slots), rows):
                whole = self._encode(changes, slice(start, start + rows))
                for batch in pieces(whole, self._most_bytes, f"a change of state {self.spec.name}"):
                    yield CHANGES_PART + self.index, message_of(batch)
        self.cache.reset()

    def _encode(self, changes: Changes, part: slice) -> pa.RecordBatch:
        columns: dict[str, pa.Array] = {"v": self._encode_value(changes.values[part])}
        if changes.keys is not None and self._encode_key is not None:
            columns["k"] = self._encode_key(changes.keys[part])
        plain = {"slot": changes.slots, "op": changes.ops, "x": changes.expiries, "c": changes.created}
        for name, values in plain.items():
            if values is not None:
                columns[name] = pa.array(values[part], self._changes.field(name).type)
        return pa.record_batch([columns[name] for name in self._changes.names], schema=self._changes)
