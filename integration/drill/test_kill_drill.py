"""The driver is killed with SIGKILL at random moments; at the end state and output are those of a life without a kill.

One driver runs the queries of all modes side by side, so that one kill hits each of them: starting a JVM costs more
than all that its queries do in a life. The modes have nothing in common but the process.

SNAPLINE_KILLS: how many (100), each in all modes.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from .feed import Feed
from .life import Life
from .lives import SEED, kills
from .modes import CHOSEN, MODES
from .tally import Tally
from .unharmed import Unharmed, complaints
from .work import Orders

KILLS = kills(100)
ROUND = 20
"""Kills at most, before all is taken in and compared."""
MOST_EVENTS = 72
"""After which a life is killed: entries that come to the logs of all queries, two for each batch."""


@dataclass
class Round:
    """A folder for each mode, from nothing to all of the input taken in."""

    base: Path
    unharmed: Unharmed
    chance: random.Random
    lives: list[Life] = field(default_factory=list)

    def __post_init__(self) -> None:
        works = [MODES[mode].work(str(self.base / mode), self.chance) for mode in CHOSEN]
        self.feed = Feed(self.unharmed.source, works)

    def start(self, ends: bool) -> Life:
        works = [MODES[mode].work(str(self.base / mode), self.chance) for mode in CHOSEN]
        self.chance.shuffle(works)
        local, unharmed = str(self.base / "local"), self.unharmed
        orders = Orders(works=works, local=local, ends=ends, files=unharmed.files, java=unharmed.java)
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
            self.unharmed.compare(tally, self.base / mode)
            tally.faults += len(self.lives) - 1


def stage(log: Path) -> str:
    """How far a life has come."""
    text = log.read_text(errors="replace")
    replays, started = text.count(": Replaying batch"), text.count("\nstarted ")
    return f"{replays} batches replayed, {started} queries started, {text.count('skipped')} batches in SQLite already"


def test_killed_at_random_moments(unharmed: Unharmed, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}, modes {' '.join(CHOSEN)}", flush=True)
    chance = random.Random(SEED)
    tally.modes = len(CHOSEN)
    rounds, began = 0, time.monotonic()
    while tally.kills < KILLS:
        this = Round(tmp_path / f"round-{rounds}", unharmed, chance)
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
