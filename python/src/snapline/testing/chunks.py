"""Chunks of rows and timers, as the operator cuts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from snapline.testing.bounds import Bounds
from snapline.testing.states import Part, StoredState
from snapline.worker.decode import decoder
from snapline.worker.encode import encoder
from snapline.worker.frames import KEYS_PART, ROWS_PART, TIMERS_PART, Frame, ToWorker, message_of
from snapline.worker.job import Job


@dataclass(frozen=True)
class Chunk:
    """A frame, the keys whose slots it begins, and whether it ends the epoch."""

    frame: Frame
    keys: Sequence[Any]
    ends_epoch: bool

    @classmethod
    def of_timers(
        cls,
        job: Job,
        schemas: dict[int, pa.Schema],
        states: Sequence[StoredState],
        timers: Sequence[tuple[int, int, Any]],
        through: int,
        due: tuple[int | None, int | None],
    ) -> Chunk:
        """Due timers in order of time, with the state of their keys: an epoch of its own."""
        slots: dict[Any, int] = {}
        for _, _, key in timers:
            slots.setdefault(key, len(slots))
        columns = [[slots[key] for _, _, key in timers], [each[0] for each in timers], [each[1] for each in timers]]
        parts = [(TIMERS_PART, _message(schemas[TIMERS_PART], columns)), keys_part(schemas, list(slots))]
        for state in states:
            parts += state.read_ahead(0, list(slots), with_timers=True)
        meta = {
            "first_slot": 0,
            "end_of_epoch": True,
            "due_event_ms": due[0],
            "due_processing_ms": due[1],
            "through": through,
        }
        return cls(Frame(ToWorker.TIMERS, meta, dict(parts)), list(slots), True)


class RowChunks:
    """Cuts the rows of a micro-batch into chunks, and those into epochs."""

    def __init__(
        self,
        job: Job,
        schemas: dict[int, pa.Schema],
        states: Sequence[StoredState],
        bounds: Bounds,
        held: Callable[[], int],
    ) -> None:
        self._job = job
        self._schemas = schemas
        self._states = states
        self._bounds = bounds
        self._held = held
        self._slots: dict[Any, int] = {}
        self._named: set[tuple[int, int, Any]] = set()
        self._sent = 0

    def of(self, rows: Sequence[Any], *, stays_open: bool = False) -> Iterator[Chunk]:
        """`stays_open`: the last row does not end the epoch, which :meth:`last` does."""
        keys = self._keys_of(rows)
        if self._job.plan.mode == "batch":
            order = {key: i for i, key in enumerate(dict.fromkeys(keys))}
            pairs = sorted(zip(keys, rows, strict=True), key=lambda pair: order[pair[0]])
            keys, rows = [key for key, _ in pairs], [row for _, row in pairs]
        start = 0
        while start < len(rows):
            end = self._end_of_chunk(keys, start)
            splits = self._job.plan.mode == "batch" and end < len(rows) and keys[end] == keys[end - 1]
            is_last = end == len(rows) and not stays_open
            yield self._chunk(rows[start:end], keys[start:end], is_last, splits)
            start = end

    def last(self) -> Iterator[Chunk]:
        """A chunk without rows that ends the epoch, if one is open."""
        if self._slots:
            self._end_epoch()
            yield Chunk(Frame(ToWorker.ROWS, {"first_slot": 0, "end_of_epoch": True}, {}), (), True)

    def _keys_of(self, rows: Sequence[Any]) -> list[Any]:
        """Keys as the worker would see them, so that the store knows them again."""
        if not self._job.plan.kind.is_keyed:
            return [(0,)] * len(rows)
        positions = [self._job.input_columns.index(name) for name in self._job.key_names]
        return keys_of(self._schemas[KEYS_PART], [[row[at] for row in rows] for at in positions])

    def _end_of_chunk(self, keys: Sequence[Any], start: int) -> int:
        """Where the chunk has its rows, or the epoch its keys."""
        known = set(self._slots)
        for i in range(start, min(len(keys), start + self._bounds.chunk_rows)):
            known.add(keys[i])
            if len(known) > self._bounds.max_keys:
                return max(i, start + 1)
        return min(len(keys), start + self._bounds.chunk_rows)

    def _chunk(self, rows: Sequence[Any], keys: Sequence[Any], is_last: bool, splits: bool) -> Chunk:
        """The rows as a chunk. In batch mode an epoch does not end within a key (``splits``)."""
        first = len(self._slots)
        for key in keys:
            self._slots.setdefault(key, len(self._slots))
        new = list(self._slots)[first:]
        parts: list[Part] = [keys_part(self._schemas, new)] if new else []
        for state in self._states:
            parts += state.read_ahead(first, new)
        extra: list[list[Any]] = []
        for i, state in enumerate(self._states):
            if state.spec.entry is not None:
                index, part = self._entries(i, state, rows, keys)
                parts += part
                extra += [index] if self._job.plan.mode == "arrow" else []
        columns = [*map(list, zip(*rows, strict=True)), [self._slots[key] for key in keys], *extra]
        parts.insert(0, (ROWS_PART, _message(self._schemas[ROWS_PART], columns)))
        self._sent += sum(len(message) for _, message in parts[1:])
        ends = is_last or self._job.plan.mode == "arrow" or (self._is_full() and not splits)
        if ends:
            self._end_epoch()
        frame = Frame(ToWorker.ROWS, {"first_slot": first, "end_of_epoch": ends}, dict(parts))
        return Chunk(frame, new, ends)

    def _end_epoch(self) -> None:
        self._slots.clear()
        self._named.clear()
        self._sent = 0

    def _is_full(self) -> bool:
        return len(self._slots) >= self._bounds.max_keys or self._sent + self._held() >= self._bounds.max_bytes

    def _entries(
        self, index: int, state: StoredState, rows: Sequence[Any], keys: Sequence[Any]
    ) -> tuple[list[int | None], list[Part]]:
        """Looks up, once per epoch, the entries that the rows name; for each row which it is."""
        assert state.spec.entry is not None
        at = self._job.input_columns.index(state.spec.entry)
        kind = self._schemas[ROWS_PART].field(at).type
        names = decoder(kind, as_key=True)(encoder(kind)([row[at] for row in rows]))
        places: dict[tuple[int, Any], int] = {}
        wanted: list[tuple[int, Any, Any]] = []
        for key, name in zip(keys, names, strict=True):
            entry = (self._slots[key], name)
            if (index, *entry) not in self._named:
                self._named.add((index, *entry))
                places[entry] = len(wanted)
                wanted.append((self._slots[key], key, name))
        row_entries = [places.get((self._slots[key], name)) for key, name in zip(keys, names, strict=True)]
        return row_entries, state.read_named(wanted)


def keys_of(schema: pa.Schema, columns: Sequence[Sequence[Any]]) -> list[Any]:
    """Keys in the form that is equal to that of the same bytes alone."""
    decoded = [
        decoder(field.type, as_key=True)(encoder(field.type)(column))
        for field, column in zip(schema, columns, strict=True)
    ]
    return list(zip(*decoded, strict=True))


def keys_part(schemas: dict[int, pa.Schema], keys: Sequence[Any]) -> Part:
    return KEYS_PART, _message(schemas[KEYS_PART], [list(column) for column in zip(*keys, strict=True)])


def _message(schema: pa.Schema, columns: Sequence[Sequence[Any]]) -> pa.Buffer:
    arrays = [encoder(field.type)(column) for field, column in zip(schema, columns, strict=True)]
    return message_of(pa.record_batch(arrays, schema=schema))
