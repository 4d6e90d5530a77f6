"""The driver is killed with SIGKILL under AT_LEAST_ONCE: each row counts once, and twice only what was foretold.

SNAPLINE_KILLS: how many (20), each hits all queries.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

from .at_least_once_job import QUERIES
from .lives import LONGEST, SEED, kill, kills, start, wait_for
from .tally import Tally
from .test_unaligned_kills import parquet_rows
from .twice import Twice

KILLS = kills(20)
JOB = "integration.drill.at_least_once_job"
ROWS_A_FILE = 200
KEYS = 40


def test_no_row_counts_less_than_once_and_twice_what_was_foretold(tmp_path: Path, files: str, tally: Tally) -> None:
    draw = random.Random(SEED)
    print(f"seed {SEED}")
    tally.modes = len(QUERIES)
    batches = make_input(tmp_path / "input", 8 * (KILLS + 1), draw)
    keys = [[k for k, _ in rows] for rows in batches]
    queries = {name: Twice(tmp_path / f"{name}-checkpoint", keys) for name in QUERIES}
    for life in range(KILLS):
        for query in queries.values():
            query.begin()
        process, log = start(JOB, tmp_path, life, files)
        wait_for(process, log, draw.randrange(1, len(QUERIES) + 1))
        wait_for_checkpoints(process, queries, draw.randrange(len(QUERIES) + 1))
        time.sleep(draw.uniform(0, 3))
        kill(process)
        tally.kills += 1
        check_reports(log, queries)
        for query in queries.values():
            query.end()
        print(f"life {life}: {log.read_text().count('ended ')} queries had ended", flush=True)
    for query in queries.values():
        query.begin()
    process, log = start(JOB, tmp_path, KILLS, files, "--end")
    assert process.wait(LONGEST) == 0, log.read_text()[-3000:]
    check_reports(log, queries)
    counted = Counter(k for rows in batches for k, _ in rows)
    twice = 0
    for name, query in queries.items():
        if name.startswith("distinct"):
            tally.compare(name, parquet_rows(tmp_path / name), {row for rows in batches for row in rows})
        else:
            state = json.loads((tmp_path / f"{name}.json").read_text())
            more = {k: query.now[k, partition] for k, _, partition in state}
            foretold = {k: rows + more.get(k, 0) for k, rows in counted.items()}
            tally.compare(f"{name}, seed {SEED}", [(k, n) for k, n, _ in state], foretold.items())
            twice += sum(more.values())
        tally.faults += KILLS
    ahead = sum(query.ahead for query in queries.values())
    print(f"{KILLS} kills of {len(QUERIES)} queries: {ahead} batches in snapshots that were ahead, {twice} rows twice")
    assert twice > 0, "some store was to be ahead"


def wait_for_checkpoints(process: subprocess.Popen[bytes], queries: dict[str, Twice], count: int) -> None:
    """Until so many queries have one that this life has taken, or it has ended."""
    deadline = time.monotonic() + LONGEST
    while sum(query.has_new for query in queries.values()) < count and process.poll() is None:
        assert time.monotonic() < deadline, "no checkpoint is complete"
        time.sleep(0.05)


def check_reports(log: Path, queries: dict[str, Twice]) -> None:
    """What a start says of its recovery is no less than what counts twice in one partition."""
    for name, checkpoint, rows in re.findall(r"^recovered (\S+) (-?\d+) (\d+)$", log.read_text(), re.M):
        query = queries[name]
        if query.base is not None and not query.resumes:
            assert int(checkpoint) == query.base.id
            partitions = {partition for _, partition in query.expected}
            most = max((sum(n for (_, p), n in query.expected.items() if p == of) for of in partitions), default=0)
            assert int(rows) >= most, f"{name} said {rows} rows, and {most} count twice"


def make_input(folder: Path, files: int, draw: random.Random) -> list[list[tuple[int, int]]]:
    """Keys and values of each file."""
    folder.mkdir()
    made = []
    for number in range(files):
        rows = [(draw.randrange(KEYS), draw.randrange(30)) for _ in range(ROWS_A_FILE)]
        path = folder / f"{number:04}.json"
        path.write_text("".join(json.dumps({"k": k, "t": number, "v": v}) + "\n" for k, v in rows))
        os.utime(path, (1_700_000_000 + number,) * 2)
        made.append(rows)
    return made
