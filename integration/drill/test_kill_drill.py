"""The driver is killed with SIGKILL at random moments; at the end state and output are those of a life without a kill.

One driver runs the queries of all modes side by side, so that one kill hits each of them: starting a JVM costs more
than all that its queries do in a life. The modes have nothing in common but the process.

SNAPLINE_KILLS: how many (100), each in all modes. SNAPLINE_MODES: some of them.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .check import check_output, read_results
from .expected import Results, expect, make_input
from .feed import Feed
from .life import Life
from .lives import SEED, kills
from .tally import Tally
from .work import QUERIES, Orders, Work

KILLS = kills(100)

INTERVALS = (0.3, 1, 2, 4)


@dataclass(frozen=True)
class Mode:
    """The format of Spark's checkpoints, the state backend, and what each life gets one of.

    `intervals`: None means that every batch is durable. `merging`: whether handles go into shared files.
    """

    format: int
    backend: str
    intervals: Sequence[float | None]
    merging: Sequence[bool]


MODES = {
    f"{name}-{backend}": Mode(version, backend, intervals, merging)
    for name, version, intervals, merging in (
        ("every-batch-1", 1, (None,), (False,)),
        ("mixed-2", 2, (None, *INTERVALS), (False, True)),
        ("merged-2", 2, INTERVALS, (True,)),
        ("interval-1", 1, INTERVALS, (False,)),
        ("mixed-1", 1, (None, *INTERVALS), (False, True)),
        ("every-batch-2", 2, (None,), (False,)),
    )
    for backend in ("rocksdb", "hashmap")
}
CHOSEN = os.environ.get("SNAPLINE_MODES", " ".join(MODES)).split()

ROUND = 20
"""Kills at most, before all is taken in and compared."""
FILES = min(24, 8 + KILLS)
"""More than a query takes in while its driver is killed so often: what is left is for the life that ends the round."""
MOST_EVENTS = 72
"""After which a life is killed: entries that come to the logs of all queries, two for each batch."""


@dataclass
class Lived:
    """A life without a kill, started by Spark alone: what it left, and an archive of the classes that it loaded."""

    source: Path
    results: Results
    expected: Results
    files: str
    java: Sequence[str]


@pytest.fixture(scope="module")
def lived(files: str, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    base = tmp_path_factory.mktemp("lived")
    batches = make_input(base / "files", FILES)
    archive = base / "classes.jsa"
    work = Work(folder=str(base / "work"), plain=True)
    Feed(base / "files", [work]).give_all()
    java = [f"-XX:ArchiveClassesAtExit={archive}"]
    life = Life(Orders(works=[work], local=str(base / "local"), ends=True, files=files, java=java), base / "life.log")
    assert life.end() == 0, "\n".join(complaints(life.log))
    # Half the time until a session is there is spent on loading classes.
    java = [f"-XX:SharedArchiveFile={archive}"]
    return Lived(base / "files", read_results(work.path), expect(batches, QUERIES), files, java)


@dataclass
class Round:
    """A folder for each mode, from nothing to all of the input taken in."""

    base: Path
    lived: Lived
    chance: random.Random
    lives: list[Life] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.feed = Feed(self.lived.source, [self.work(mode) for mode in CHOSEN])

    def work(self, mode: str) -> Work:
        """With the settings of one life."""
        this = MODES[mode]
        return Work(
            folder=str(self.base / mode),
            format=this.format,
            interval=self.chance.choice(this.intervals),
            retained=self.chance.randint(1, 3),
            backend=this.backend,
            merging=self.chance.choice(this.merging),
        )

    def start(self, ends: bool) -> Life:
        works = [self.work(mode) for mode in CHOSEN]
        self.chance.shuffle(works)
        local, lived = str(self.base / "local"), self.lived
        orders = Orders(works=works, local=local, ends=ends, files=lived.files, java=lived.java)
        self.lives.append(Life(orders, self.base / f"life-{len(self.lives):03}.log", self.feed))
        return self.lives[-1]

    def kill(self) -> None:
        """One life."""
        life, began = self.start(ends=False), time.monotonic()
        events = self.chance.randint(0, MOST_EVENTS)
        seconds = self.chance.uniform(0, 0.5)
        killed = life.wait_for("\nsession\n") and life.kill_after(events, seconds)
        assert killed, f"seed {SEED}, {life.log} ended by itself:\n" + "\n".join(complaints(life.log))
        print(
            f"  {time.monotonic() - began:4.1f} s, {events} events and {seconds:.2f} s: {stage(life.log)}", flush=True
        )

    def end(self, tally: Tally) -> None:
        """All of the input is taken in, and what is there is compared."""
        self.feed.give_all()
        life = self.start(ends=True)
        status = life.end()
        assert status == 0, f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))
        for mode in CHOSEN:
            check_output(tally, self.base / mode, self.lived.results, self.lived.expected)
            tally.faults += len(self.lives) - 1


def stage(log: Path) -> str:
    """How far a life has come."""
    text = log.read_text(errors="replace")
    replays, started = text.count(": Replaying batch"), text.count("\nstarted ")
    return f"{replays} batches replayed, {started} queries started, {text.count('skipped')} batches in SQLite already"


def complaints(log: Path) -> list[str]:
    lines = log.read_text(errors="replace").splitlines()
    return [line[:500] for line in lines if "SNAPLINE-" in line or line.startswith("failed")][:20] + lines[-20:]


def test_killed_at_random_moments(lived: Lived, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}, modes {' '.join(CHOSEN)}", flush=True)
    chance = random.Random(SEED)
    tally.modes = len(CHOSEN)
    rounds, began = 0, time.monotonic()
    while tally.kills < KILLS:
        this = Round(tmp_path / f"round-{rounds}", lived, chance)
        for _ in range(min(ROUND, KILLS - tally.kills)):
            if not this.feed.dry:
                this.kill()
                tally.kills += 1
        this.end(tally)
        rounds += 1
        seconds = time.monotonic() - began
        print(
            f"{tally.kills} kills in each of {len(CHOSEN)} modes; {rounds} rounds equal to a life without, "
            f"{tally.rows} rows compared; {seconds:.0f} s",
            flush=True,
        )
