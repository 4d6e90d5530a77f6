"""What goes into the query of `job.py`, and what has to come out: without Spark.

Each row comes out with the count and the sum of its key so far. So the output tells every row that was lost, that came
twice or out of turn, and every state that was not the right one; and it is the same however rows fall into batches.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import NamedTuple

KEYS = 7


class Row(NamedTuple):
    k: int
    seq: int
    v: int


class Result(NamedTuple):
    k: int
    seq: int
    n: int
    total: int


def make_rows(count: int, first: int = 0) -> list[Row]:
    chance = random.Random(first + 11)
    return [Row(chance.randrange(KEYS), number, chance.randrange(-50, 50)) for number in range(first, first + count)]


def write_files(folder: Path, rows: list[Row], files: int) -> None:
    """In order of time, by which the file source takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // files)
    for number in range(files):
        path = folder / f"{number:03}.json"
        path.write_text("".join(to_json(row) + "\n" for row in rows[number * size : (number + 1) * size]))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def to_json(row: Row | Result) -> str:
    return json.dumps(row._asdict())


def results(rows: list[Row]) -> list[Result]:
    """In order of `seq`."""
    state: dict[int, tuple[int, int]] = {}
    found = []
    for row in rows:
        n, total = state.get(row.k, (0, 0))
        state[row.k] = n + 1, total + row.v
        found.append(Result(row.k, row.seq, *state[row.k]))
    return found


def final_state(rows: list[Row]) -> list[list[int]]:
    """Key, count, sum; as `job.py` writes it down."""
    newest = {result.k: [result.k, result.n, result.total] for result in results(rows)}
    return [newest[k] for k in sorted(newest)]
