"""A cluster as spot machines make it: Spark starts and ends executors, and SIGKILL ends them at random moments.

Changelogs go to storage behind the batches, and tasks have second copies. State and output are those of a life without
a kill. A query starts again only where a kill came before a changelog was copied.

SNAPLINE_KILLS: how many executors (20).
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
from pathlib import Path

from ..systems.standalone import Standalone
from .life import Life
from .lives import SEED, kills
from .moved import ALLOCATION, DECOMMISSION, SPECULATION, Moved, tell, works_of
from .tally import Tally
from .unharmed import Unharmed

MODES = ("uploads-2-rocksdb", "uploads-2-hashmap")
KILLS = kills(20)
ROUND = 20
"""Executors at most, before all is taken in and compared."""
MOST_EVENTS = 16
"""Between two kills: entries that come to the logs of all queries, two for each batch."""
MOST_SECONDS = 1.5
"""After them."""
PAUSES = 0.2
"""Of the kills: before them Spark has nothing to do until it has ended all executors."""
MOST_RESTARTS = 0.1
"""Of queries for each kill. Four run, and one kill may come before the copies of all."""


def test_killed_where_executors_come_and_go(
    cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally
) -> None:
    print(f"seed {SEED}", flush=True)
    chance = random.Random(SEED)
    rounds: list[Moved] = []
    killed = 0
    while killed < KILLS:
        base = tmp_path / f"round-{len(rounds)}"
        base.mkdir()
        conf = ALLOCATION | DECOMMISSION | SPECULATION
        moved = Moved(base, cluster, unharmed, conf, works_of(base, MODES, SEED + len(rounds)))
        rounds.append(moved)
        due = min(ROUND, KILLS - killed)

        def kill(life: Life) -> int:
            return _kill(moved, life, due, chance)  # noqa: B023

        killed += moved.live(kill, tally)
        restarts = sum(each.restarts for each in rounds)
        ended = sum(len(each.events("ExecutorRemoved")) for each in rounds) - killed
        copies = sum(each.copies() for each in rounds)
        print(f"{killed} kills, {ended} more executors ended, {copies} second copies, {restarts} restarts", flush=True)
    tally.kills += killed
    assert ended > 0
    assert copies > 0
    assert restarts <= MOST_RESTARTS * killed


def _kill(moved: Moved, life: Life, due: int, chance: random.Random) -> int:
    """
    Returns:
        how many executors; fewer than are due if all of the input is taken in before.
    """
    killed = 0
    while killed < due and not moved.feed.dry:
        if chance.random() < PAUSES:
            moved.feed.holds = True
            assert life.wait_until(lambda: not moved.executors), tell(life)
            moved.feed.holds = False
        assert life.wait_after(chance.randint(0, MOST_EVENTS), chance.uniform(0, MOST_SECONDS)), tell(life)
        assert life.wait_until(lambda: bool(moved.executors)), tell(life)
        with contextlib.suppress(ProcessLookupError):  # Spark may end it at this moment.
            os.kill(chance.choice(sorted(moved.executors)), signal.SIGKILL)
            killed += 1
    return killed
