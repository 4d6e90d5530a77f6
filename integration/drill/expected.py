"""The input of the drill, and what its queries make of it: without Spark."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

START = 1_700_000_000_000
KEYS = 5
ROWS = 12
DELAY, TIMER, WINDOW, GAP = 20_000, 15_000, 10_000, 10_000

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


@dataclass
class Results:
    """Output and final state by query, each sorted; without the clock times of `chains`.

    Rows of `chains` and `totals` begin with the number of their batch; but those of Parquet files, where it is None.
    """

    output: dict[str, list[list[object]]] = field(default_factory=dict)
    state: dict[str, list[list[object]]] = field(default_factory=dict)


def expect(files: list[list[Row]], queries: Sequence[str]) -> Results:
    """With a file in every batch, and a batch without rows after the last."""
    marks = [0]
    for rows in files:
        marks.append(max(marks[-1], max(time for _, time, _ in rows) - DELAY))
    expected = Results()
    for name, run in (("windows", _windows), ("chains", _chains), ("totals", _totals), ("sessions", _sessions)):
        if name in queries:
            run(expected, files, marks)
    return expected


def _windows(expected: Results, batches: list[list[Row]], marks: list[int]) -> None:
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for batch, mark in zip(batches, marks, strict=False):
        for k, t, v in batch:
            if t > mark:
                windows[t // WINDOW * WINDOW, k].append(v)
    rows = sorted((start, k, len(values), sum(values)) for (start, k), values in windows.items())
    expected.output["windows"] = [list(row) for row in rows if row[0] + WINDOW <= marks[-1]]
    expected.state["windows"] = [list(row) for row in rows if row[0] + WINDOW > marks[-1]]


def _chains(expected: Results, batches: list[list[Row]], marks: list[int]) -> None:
    chains: dict[int, tuple[int, str]] = {}
    timers: dict[int, set[int]] = defaultdict(set)
    output: list[list[object]] = []

    def link(number: int, k: int, what: str, value: int) -> None:
        n, before = chains.get(k, (0, ""))
        digest = hashlib.sha256(f"{before}|{what}|{value}".encode()).hexdigest()[:16]
        chains[k] = n + 1, digest
        output.append([number, k, n + 1, what, digest])

    for number, (batch, mark) in enumerate(zip(batches, marks, strict=False)):
        for k, t, v in sorted(batch):
            if t > mark:
                timers[k].add(t + TIMER)
                link(number, k, "row", v)
        for k in timers:
            due = sorted(time for time in timers[k] if time <= mark)
            timers[k] -= set(due)
            for time in due:
                link(number, k, "timer", time)
    expected.output["chains"] = sorted(output)
    expected.state["chains"] = sorted([k, n, digest] for k, (n, digest) in chains.items())


def _totals(expected: Results, batches: list[list[Row]], marks: list[int]) -> None:
    """The watermark has no part in it: the key is no time."""
    totals: dict[int, tuple[int, int, int]] = {}
    output: list[list[object]] = []
    for number, batch in enumerate(batches):
        for k, t, v in batch:
            n, s, last = totals.get(k, (0, 0, 0))
            totals[k] = n + 1, s + v, max(last, t)
        output += ([number, k, *totals[k]] for k in {k for k, _, _ in batch})
    expected.output["totals"] = sorted(output)
    expected.state["totals"] = sorted([k, *total] for k, total in totals.items())


def _sessions(expected: Results, batches: list[list[Row]], marks: list[int]) -> None:
    """As Flink does it: a row far behind the watermark is not late where it touches a session that is still open."""
    output: list[list[object]] = []
    open_sessions: dict[int, list[list[Row]]] = defaultdict(list)

    def end(rows: list[Row]) -> int:
        return max(t for _, t, _ in rows) + GAP

    def fire(mark: int) -> None:
        for k, sessions in open_sessions.items():
            for rows in [rows for rows in sessions if end(rows) - 1 <= mark]:
                sessions.remove(rows)
                output.append([min(t for _, t, _ in rows), k, len(rows), sum(v for *_, v in rows)])

    # Rows are late by the watermark of the batch before, and sessions fire by that of their own.
    for batch, late, mark in zip(batches, [0, *marks], marks, strict=False):
        for row in sorted(batch, key=lambda row: row[1:]):
            k, t, _ = row
            sessions = open_sessions[k]
            # Sessions that touch are one.
            near = [rows for rows in sessions if min(t for _, t, _ in rows) <= t + GAP and t <= end(rows)]
            whole = [row, *(each for rows in near for each in rows)]
            if end(whole) - 1 > late:
                open_sessions[k] = [rows for rows in sessions if rows not in near] + [whole]
        fire(mark)
    fire(marks[-1])
    expected.output["sessions"] = sorted(output)
    expected.state["sessions"] = []
