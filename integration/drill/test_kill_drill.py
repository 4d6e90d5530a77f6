"""The driver is killed with SIGKILL at random moments; at the end state and output are those of a life without a kill.

One driver runs the queries of several modes side by side, so that one kill hits each of them; the modes have nothing
in common but the process. The fewer they are, the shorter is a life. While one lives, the driver that comes after it
makes its session and waits: starting Spark takes as long as all that the queries do in a life.

SNAPLINE_KILLS: how many (400), about as many in each mode as in any other. Where they are few each hits several modes.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .feed import Feed
from .life import Life
from .lives import SEED, kills
from .modes import CHOSEN, MODES, in_turn
from .tally import Tally
from .unharmed import Unharmed, complaints
from .work import QUERIES, Orders

KILLS = kills(400)
EACH = 10
"""Kills of each mode at least, or of all modes every one."""
AT_ONCE = min(math.ceil(EACH * len(CHOSEN) / KILLS), len(CHOSEN))
"""Modes side by side."""
ROUND = min(20, math.ceil(KILLS / math.ceil(len(CHOSEN) / AT_ONCE)))
"""Kills at most, before all is taken in and compared; so few that every mode has its turn."""
MOST_EVENTS = 2 * AT_ONCE * len(QUERIES)
"""After which a life is killed: entries that come to the logs of all queries, two for each batch."""


class Lives:
    """One after the other, in the folder `base`; the next has its session already. Ends the one that waits."""

    def __init__(self, base: Path, unharmed: Unharmed) -> None:
        self._base = base
        self.common = Orders(
            works=[],
            local=str(base / "local"),
            ends=False,
            waits=True,
            files=unharmed.files,
            java=unharmed.java,
        )
        self._begun = 0
        self._next = self._begin()

    def _begin(self) -> Life:
        self._begun += 1
        return Life(self.common, self._base / f"life-{self._begun - 1:03}.log")

    def start(self, orders: Orders, feed: Feed) -> Life:
        life, self._next = self._next, self._begin()
        life.follow(orders, feed)
        return life

    def __enter__(self) -> Lives:
        return self

    def __exit__(self, *_: object) -> None:
        self._next.kill()


@dataclass
class Round:
    """A folder for each of some modes, from nothing to all of the input taken in."""

    base: Path
    unharmed: Unharmed
    modes: Sequence[str]
    chance: random.Random
    lives: Lives

    def __post_init__(self) -> None:
        self.killed = 0
        works = [MODES[mode].work(str(self.base / mode), self.chance) for mode in self.modes]
        self.feed = Feed(self.unharmed.source, works)

    def start(self, ends: bool) -> Life:
        works = [MODES[mode].work(str(self.base / mode), self.chance) for mode in self.modes]
        self.chance.shuffle(works)
        return self.lives.start(replace(self.lives.common, works=works, ends=ends, waits=False), self.feed)

    def kill(self) -> None:
        """One life."""
        began = time.monotonic()
        life = self.start(ends=False)
        events = self.chance.randint(0, MOST_EVENTS)
        # Without an entry: some time of the start, at whose beginning there is nothing to harm.
        seconds = self.chance.uniform(0, 0.5 if events else 3)
        killed = life.wait_for("\nwork ") and life.kill_after(events, seconds)
        assert killed, f"seed {SEED}, {life.log} ended by itself:\n" + "\n".join(complaints(life.log))
        self.killed += 1
        print(
            f"  {time.monotonic() - began:4.1f} s, {events} events and {seconds:.2f} s: {stage(life.log)}", flush=True
        )

    def end(self, tally: Tally) -> None:
        """All of the input is taken in, and what is there is compared."""
        self.feed.give_all()
        life = self.start(ends=True)
        status = life.end()
        assert status == 0, f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))
        for mode in self.modes:
            self.unharmed.compare(tally, self.base / mode)
            tally.faults += self.killed


def stage(log: Path) -> str:
    """How far a life has come."""
    text = log.read_text(errors="replace")
    replays, started = text.count(": Replaying batch"), text.count("\nstarted ")
    return f"{replays} batches replayed, {started} queries started, {text.count('skipped')} batches in SQLite already"


def test_killed_at_random_moments(unharmed: Unharmed, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}, modes {' '.join(CHOSEN)}", flush=True)
    chance = random.Random(SEED)
    tally.modes = len(CHOSEN)
    turns, rounds, began = in_turn(chance, AT_ONCE), 0, time.monotonic()
    with Lives(tmp_path / "lives", unharmed) as lives:
        while tally.kills < KILLS:
            this = Round(tmp_path / f"round-{rounds}", unharmed, next(turns), chance, lives)
            left = KILLS - tally.kills
            while this.killed < min(ROUND, left) and not this.feed.dry:
                this.kill()
                tally.kills += 1
            this.end(tally)
            rounds += 1
            print(
                f"{tally.kills} kills; {rounds} rounds equal to a life without, {tally.rows} rows compared; "
                f"{' '.join(this.modes)}; {time.monotonic() - began:.0f} s",
                flush=True,
            )
