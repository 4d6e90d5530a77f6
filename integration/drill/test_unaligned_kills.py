"""The driver is killed with SIGKILL while rows wait and batches are cut; at the end the output is that of plain Python.

SNAPLINE_KILLS: how many (20), each hits all queries.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from .job import digest
from .lives import LONGEST, SEED, kill, kills, start, wait_for
from .tally import Tally
from .unaligned_job import QUERIES

KILLS = kills(20)
JOB = "integration.drill.unaligned_job"
ROWS_A_FILE = 60
KEYS = 5


def test_output_is_that_of_plain_python_wherever_batches_were_cut(tmp_path: Path, tally: Tally) -> None:
    draw = random.Random(SEED)
    print(f"seed {SEED}")
    tally.modes = len(QUERIES)
    expected = make_input(tmp_path / "input", 12 + 2 * KILLS, draw)
    cut = 0
    for life in range(KILLS):
        process, log = start(JOB, tmp_path, life)
        wait_for(process, log, draw.randrange(1, len(QUERIES) + 1))
        time.sleep(draw.uniform(0, 6))
        kill(process)
        tally.kills += 1
        cut += sum(1 for _ in tmp_path.glob("*-checkpoint/snapline/cuts/*/*"))
        print(f"life {life}: {log.read_text().count('ended ')} queries had ended", flush=True)
    process, log = start(JOB, tmp_path, KILLS)
    assert process.wait(LONGEST) == 0, log.read_text()[-3000:]
    assert cut > KILLS, "batches were to be cut"
    for name in QUERIES:
        tally.compare(f"{name}, seed {SEED}", read(tmp_path, name), expected)
        tally.faults += KILLS
    print(f"{KILLS} kills in each of {len(QUERIES)} modes, {len(expected)} rows compared in each")


def make_input(folder: Path, files: int, draw: random.Random) -> list[tuple[int, int, str]]:
    """Files of rows in order of time; what the function makes of them."""
    folder.mkdir()
    state: dict[int, tuple[int, str]] = {}
    expected = []
    for number in range(files):
        rows = [
            {"k": draw.choice([0, *range(KEYS)]), "t": number * 1_000 + place, "v": draw.randrange(1_000)}
            for place in range(ROWS_A_FILE)
        ]
        for row in rows:
            n, before = state.get(row["k"], (0, ""))
            state[row["k"]] = (n + 1, digest(before, "row", row["v"]))
            expected.append((row["k"], *state[row["k"]]))
        draw.shuffle(rows)
        path = folder / f"{number:04}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + number,) * 2)
    return sorted(expected)


def read(folder: Path, name: str) -> list[tuple[int, int, str]]:
    if name.startswith("sqlite"):
        with sqlite3.connect(folder / f"{name}.db") as db:
            return [tuple(json.loads(row)) for (row,) in db.execute("select row from rows")]
    return parquet_rows(folder / name)


def parquet_rows(output: Path) -> list[tuple[Any, ...]]:
    """Of the files that count by the sink's log."""
    entries = sorted((output / "_spark_metadata").glob("[0-9]*"), key=lambda path: int(path.name.split(".")[0]))
    compacted = [path for path in entries if path.name.endswith(".compact")]
    if compacted:
        entries = entries[entries.index(compacted[-1]) :]
    lines = [line for entry in entries for line in entry.read_text().splitlines()[1:]]
    files = [json.loads(line)["path"].removeprefix("file://") for line in lines]
    return [tuple(row.values()) for file in files for row in pq.read_table(file).to_pylist()]
