"""Seeded Parquet input, made once and kept: one folder a batch, two files in it (one a task)."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES_A_BATCH = 2
# Spark's file source takes files in the order of their times, so every batch gets a second of its own.
FIRST_TIME = 1_700_000_000


@dataclass(frozen=True)
class SumEvents:
    """(key, value): keys drawn at random from `keys`."""

    rows: int
    keys: int
    batches: int
    seed: int = 4

    def name(self) -> str:
        return f"sum-{self.rows}x{self.batches}-{self.keys}-{self.seed}"

    def tables(self) -> Iterator[pa.Table]:
        draw = random.Random(self.seed)
        for _ in range(self.batches):
            keys = draw.choices(range(self.keys), k=self.rows)
            values = draw.choices(range(1000), k=self.rows)
            yield pa.table({"key": pa.array(keys, pa.int64()), "value": pa.array(values, pa.int64())})


@dataclass(frozen=True)
class KeyedEvents:
    """(key, entry, value): keys, and entries of a key, drawn at random."""

    rows: int
    keys: int
    entries: int
    batches: int
    seed: int = 6

    def name(self) -> str:
        return f"keyed-{self.rows}x{self.batches}-{self.keys}-{self.entries}-{self.seed}"

    def tables(self) -> Iterator[pa.Table]:
        draw = random.Random(self.seed)
        for _ in range(self.batches):
            columns = (draw.choices(range(most), k=self.rows) for most in (self.keys, max(1, self.entries), 1000))
            names = ("key", "entry", "value")
            yield pa.table(dict(zip(names, (pa.array(column, pa.int64()) for column in columns), strict=True)))


@dataclass(frozen=True)
class KeyRange:
    """(key, entry, value): in each batch every key from 0 up to a number, once."""

    keys: tuple[int, ...]

    def name(self) -> str:
        return f"range-{'-'.join(map(str, self.keys))}"

    def tables(self) -> Iterator[pa.Table]:
        for keys in self.keys:
            column = pa.array(range(keys), pa.int64())
            yield pa.table({"key": column, "entry": column, "value": column})


@dataclass(frozen=True)
class TimedEvents:
    """(key, time): new keys, each `step` microseconds after the one before; `kept` in the first batch, then `rows`."""

    kept: int
    rows: int
    batches: int
    step: int

    def name(self) -> str:
        return f"timed-{self.kept}-{self.rows}x{self.batches}-{self.step}"

    def tables(self) -> Iterator[pa.Table]:
        first = 0
        for rows in (self.kept, *[self.rows] * self.batches):
            keys = np.arange(first, first + rows)
            times = pa.array(FIRST_TIME * 1_000_000 + keys * self.step, pa.timestamp("us", tz="UTC"))
            # In another order than that of time, as rows come.
            order = np.random.default_rng(first).permutation(rows)
            yield pa.table({"key": pa.array(keys, pa.int64()).take(order), "time": times.take(order)})
            first += rows


@dataclass(frozen=True)
class WindowEvents:
    """(key, value, time, and that in ms): keys drawn at random; the times of a batch lie within `seconds`, those of the
    next behind."""

    rows: int
    keys: int
    batches: int
    seconds: float
    seed: int = 9

    def name(self) -> str:
        return f"timed-windows-{self.rows}x{self.batches}-{self.keys}-{self.seconds:g}-{self.seed}"

    def tables(self) -> Iterator[pa.Table]:
        draw = np.random.default_rng(self.seed)
        length = int(self.seconds * 1_000_000)
        for number in range(self.batches):
            begin = FIRST_TIME * 1_000_000 + number * length
            times = np.sort(draw.integers(begin, begin + length, self.rows))
            yield pa.table(
                {
                    "key": pa.array(draw.integers(0, self.keys, self.rows)),
                    "value": pa.array(draw.integers(0, 1000, self.rows)),
                    "time": pa.array(times, pa.timestamp("us", tz="UTC")),
                    "millis": pa.array(times // 1000),
                }
            )


@dataclass(frozen=True)
class FiringEvents:
    """(key, value, time): for each number of keys a batch with a row of each, at one time, and two batches of a single
    row; these are two and four times `seconds` later."""

    keys: tuple[int, ...]
    seconds: int

    def name(self) -> str:
        return f"firing-{'-'.join(map(str, self.keys))}-{self.seconds}"

    def tables(self) -> Iterator[pa.Table]:
        second = FIRST_TIME
        for keys in self.keys:
            for rows in (keys, 1, 1):
                times = np.full(rows, second * 1_000_000)
                yield pa.table(
                    {
                        "key": pa.array(np.arange(rows)),
                        "value": pa.array(np.ones(rows, np.int64)),
                        "time": pa.array(times, pa.timestamp("us", tz="UTC")),
                    }
                )
                second += 2 * self.seconds


@dataclass(frozen=True)
class LoadedEvents:
    """(key, value): every key once, in batches of `chunk`; then `batches` of `rows` each, with keys drawn at random."""

    keys: int
    rows: int
    batches: int
    chunk: int = 1_000_000
    seed: int = 8

    def name(self) -> str:
        return f"loaded-{self.keys}-{self.rows}x{self.batches}-{self.chunk}-{self.seed}"

    @property
    def loads(self) -> int:
        return -(-self.keys // self.chunk)

    def tables(self) -> Iterator[pa.Table]:
        for first in range(0, self.keys, self.chunk):
            yield self._table(np.arange(first, min(first + self.chunk, self.keys)))
        draw = np.random.default_rng(self.seed)
        for _ in range(self.batches):
            yield self._table(draw.integers(0, self.keys, self.rows))

    def _table(self, keys: np.ndarray) -> pa.Table:
        return pa.table({"key": pa.array(keys, pa.int64()), "value": pa.array(keys % 1000, pa.int64())})


@dataclass(frozen=True)
class UpdateEvents:
    """(key, seq, payload): batch 0 holds every key once, each later one `changed` of them with new random bytes."""

    keys: int
    changed: int
    batches: int
    payload: int = 100
    seed: int = 5

    def name(self) -> str:
        return f"update-{self.keys}-{self.changed}x{self.batches}-{self.payload}-{self.seed}"

    def tables(self) -> Iterator[pa.Table]:
        draw = random.Random(self.seed)
        for seq in range(self.batches):
            keys = list(range(self.keys)) if seq == 0 else draw.sample(range(self.keys), self.changed)
            yield update_table(keys, seq, self.payload, draw)


def update_table(keys: Sequence[int], seq: int, payload: int, draw: random.Random) -> pa.Table:
    random_bytes = pa.py_buffer(draw.randbytes(len(keys) * payload))
    values = pa.FixedSizeBinaryArray.from_buffers(pa.binary(payload), len(keys), [None, random_bytes])
    seqs = pa.array([seq] * len(keys), pa.int64())
    return pa.table({"key": pa.array(keys, pa.int64()), "seq": seqs, "payload": values})


class Events(Protocol):
    """What `prepare` makes the folders of."""

    def name(self) -> str: ...

    def tables(self) -> Iterator[pa.Table]: ...


def prepare(events: Events, data: Path) -> list[Path]:
    """The folders of the batches, in order; made now if they are not there yet."""
    folder = data / events.name()
    if not folder.exists():
        half_made = folder.with_suffix(".tmp")
        shutil.rmtree(half_made, ignore_errors=True)
        for number, table in enumerate(events.tables()):
            write_batch(table, half_made / f"{number:05d}", FIRST_TIME + number)
        half_made.rename(folder)
    return sorted(folder.iterdir())


def write_batch(table: pa.Table, folder: Path, modified: int) -> None:
    folder.mkdir(parents=True)
    share = -(-table.num_rows // FILES_A_BATCH)
    for part in range(FILES_A_BATCH):
        file = folder / f"part-{part}.parquet"
        pq.write_table(table.slice(part * share, share), file)
        os.utime(file, (modified, modified))
