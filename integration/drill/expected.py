"""The input of the drill, and what its queries make of it: without Spark."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

START = 1_700_000_000_000
KEYS = 5
ROWS = 12
DELAY, TIMER, WINDOW = 20_000, 15_000, 10_000

Row = tuple[int, int, int]
"""Key, time in ms, value."""


def make_input(folder: Path, files: int) -> list[list[Row]]:
    """A file is a micro-batch: the file source takes them in the order of their times."""
    folder.mkdir(parents=True)
    chance = random.Random(5)
    batches = []
    for number in range(files):
        # Within the delay of the watermark, each at a time of its own.
        times = chance.sample(range(number * 7_000, number * 7_000 + 12_000), ROWS)
        if number >= 10:
            times[0] = chance.randrange(5_000)  # far behind it
        batch = [(chance.randrange(KEYS), START + time, number * 100 + place) for place, time in enumerate(times)]
        path = folder / f"{number:03}.json"
        path.write_text("".join(json.dumps({"k": k, "t": t, "v": v}) + "\n" for k, t, v in batch))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        batches.append(batch)
    return batches


def read_input(folder: Path) -> list[list[Row]]:
    rows = [[json.loads(line) for line in path.read_text().splitlines()] for path in sorted(folder.glob("*.json"))]
    return [[(row["k"], row["t"], row["v"]) for row in batch] for batch in rows]


@dataclass
class Expected:
    """Output and final state, each sorted; the clock times of `chains` are left out."""

    output: dict[str, list[list[object]]] = field(default_factory=dict)
    state: dict[str, list[list[object]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Batch:
    """A micro-batch as the offset log has it: the last file it takes in, and its watermark.

    Where a life ends decides about both. Killed between the log of the file source and its own, Spark takes two files
    into the next batch; a batch that the file sink has already is passed over, and moves the watermark one batch later;
    and after a kill between the last file and the batch without rows, there is none.
    """

    last: int
    watermark: int


Plans = dict[str, list[Batch]]
"""By query."""


def expect(files: list[list[Row]], plans: Plans) -> Expected:
    expected = Expected()
    for name, run in (("windows", _windows), ("chains", _chains), ("totals", _totals)):
        if name in plans:
            ends = [-1, *(batch.last for batch in plans[name])]
            assert ends[-1] == len(files) - 1, f"{name} has not taken in all files"
            parts = [files[ends[i] + 1 : ends[i + 1] + 1] for i in range(len(ends) - 1)]
            batches = [[row for file in part for row in file] for part in parts]
            marks = [batch.watermark for batch in plans[name]]
            _check_watermarks(batches, marks)
            run(expected, batches, marks)
    return expected


def _check_watermarks(batches: list[list[Row]], marks: list[int]) -> None:
    """A watermark never goes back, and never runs ahead of the rows."""
    newest = DELAY
    for batch, mark, before in zip(batches, marks, [0, *marks], strict=False):
        assert before <= mark <= newest - DELAY
        newest = max([newest, *(time for _, time, _ in batch)])


def _windows(expected: Expected, batches: list[list[Row]], marks: list[int]) -> None:
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for batch, mark in zip(batches, marks, strict=True):
        for k, t, v in batch:
            if t > mark:
                windows[t // WINDOW * WINDOW, k].append(v)
    rows = sorted([start, k, len(values), sum(values)] for (start, k), values in windows.items())
    expected.output["windows"] = [row for row in rows if row[0] + WINDOW <= marks[-1]]
    expected.state["windows"] = [row for row in rows if row[0] + WINDOW > marks[-1]]


def _chains(expected: Expected, batches: list[list[Row]], marks: list[int]) -> None:
    chains: dict[int, tuple[int, str]] = {}
    timers: dict[int, set[int]] = defaultdict(set)
    output: list[list[object]] = []

    def link(k: int, what: str, number: int) -> None:
        n, before = chains.get(k, (0, ""))
        digest = hashlib.sha256(f"{before}|{what}|{number}".encode()).hexdigest()[:16]
        chains[k] = n + 1, digest
        output.append([k, n + 1, what, digest])

    for batch, mark in zip(batches, marks, strict=True):
        for k, t, v in sorted(batch):
            if t > mark:
                timers[k].add(t + TIMER)
                link(k, "row", v)
        for k in timers:
            due = sorted(time for time in timers[k] if time <= mark)
            timers[k] -= set(due)
            for time in due:
                link(k, "timer", time)
    expected.output["chains"] = sorted(output)
    expected.state["chains"] = sorted([k, n, digest] for k, (n, digest) in chains.items())


def _totals(expected: Expected, batches: list[list[Row]], marks: list[int]) -> None:
    """The watermark has no part in it: the key is no time."""
    totals: dict[int, tuple[int, int, int]] = {}
    output: list[list[object]] = []
    for batch in batches:
        for k, t, v in batch:
            n, s, last = totals.get(k, (0, 0, 0))
            totals[k] = n + 1, s + v, max(last, t)
        output += ([k, *totals[k]] for k in {k for k, _, _ in batch})
    expected.output["totals"] = sorted(output)
    expected.state["totals"] = sorted([k, *total] for k, total in totals.items())
