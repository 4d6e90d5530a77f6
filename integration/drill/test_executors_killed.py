"""Executors are killed with SIGKILL at random moments; at the end state and output are those of a life without a kill.

The driver goes on, with the queries of a few modes side by side: a query whose working state was on the executor
starts again by itself. At the end of a round the driver is killed too.

SNAPLINE_KILLS: how many executors (40), shared out among the modes.
"""

from __future__ import annotations

import math
import os
import random
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..cluster.test_cluster import executors
from .check import check_output
from .expected import expect, make_input
from .feed import Feed
from .life import Life
from .lives import SEED, kills
from .modes import CHOSEN, MODES, in_turn
from .tally import Tally
from .unharmed import Unharmed, complaints
from .work import QUERIES, Orders, Work

CLUSTER = "local-cluster[2,1,1024]"

KILLS = kills(40)
ROUND = 10
"""Executors at most, before all is taken in and compared."""
AT_ONCE = 3
"""Modes whose queries run side by side."""
MOST_EVENTS = 4 * AT_ONCE * len(QUERIES)
"""Between two kills: entries that come to the logs of all queries, two for each batch."""
MOST_SECONDS = 4.0
"""After them. An executor takes about as long to be there again, so that at times there is one alone, or none."""


@dataclass
class Round:
    """A folder for each of some modes, from nothing to all of the input taken in."""

    base: Path
    unharmed: Unharmed
    modes: Sequence[str]
    chance: random.Random

    def live(self, kills: int, tally: Tally) -> None:
        works = [MODES[mode].work(str(self.base / mode), self.chance, restarts=1000) for mode in self.modes]
        feed = Feed(self.unharmed.source, works)
        local, files, java = str(self.base / "local"), self.unharmed.files, self.unharmed.java
        # Compilers as in the driver: no executor lives long.
        conf = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        orders = Orders(works=works, local=local, ends=False, files=files, java=java, conf=conf, master=CLUSTER)
        life = Life(orders, self.base / "life.log", feed)
        try:
            assert life.wait_for("\nsession\n"), tell(life)
            killed = 0
            while killed < kills and not feed.dry:
                self.kill(life)
                killed += 1
        finally:
            life.kill()
        tally.kills += killed + 1
        feed.give_all()
        last = Life(Orders(works=works, local=local, ends=True, files=files, java=java), self.base / "last.log", feed)
        assert last.end() == 0, tell(last)
        for work in works:
            self.unharmed.compare(tally, work.path)
            tally.faults += killed + 1

    def kill(self, life: Life) -> None:
        """Any executor, which may have no task yet."""
        events, seconds, began = (
            self.chance.randint(0, MOST_EVENTS),
            self.chance.uniform(0, MOST_SECONDS),
            time.monotonic(),
        )
        there: list[int] = []

        def some() -> bool:
            there[:] = executors(life.pid)
            return bool(there)

        runs = life.wait_after(events, seconds) and life.wait_until(some)
        assert runs, tell(life)
        os.kill(self.chance.choice(sorted(there)), signal.SIGKILL)
        print(
            f"  {time.monotonic() - began:4.1f} s, {events} events and {seconds:.2f} s: one of {len(there)}; "
            f"{life.log.read_text(errors='replace').count('starts again')} restarts so far",
            flush=True,
        )


def tell(life: Life) -> str:
    return f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))


def test_killed_at_random_moments(unharmed: Unharmed, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}, modes {' '.join(CHOSEN)}", flush=True)
    chance = random.Random(SEED)
    tally.modes = len(CHOSEN)
    rounds = max(math.ceil(len(CHOSEN) / AT_ONCE), math.ceil(KILLS / ROUND))
    began = time.monotonic()
    for number, modes in zip(range(rounds), in_turn(chance, AT_ONCE), strict=False):
        this = Round(tmp_path / f"round-{number}", unharmed, modes, chance)
        this.live(KILLS // rounds + (number < KILLS % rounds), tally)
        seconds = time.monotonic() - began
        print(f"{tally.kills} kills, {tally.rows} rows compared; {' '.join(modes)}; {seconds:.0f} s", flush=True)


KILLED_AT = (2, 6)


@pytest.mark.parametrize("version", [1, 2])
def test_state_that_was_on_executors_alone_is_replayed(version: int, files: str, tmp_path: Path, tally: Tally) -> None:
    """A checkpoint that never comes: whatever a killed executor had is nowhere else."""
    queries = ("chains", "totals")
    batches = make_input(tmp_path / "files", 9)
    work = Work(folder=str(tmp_path / "work"), format=version, interval=3600, restarts=20, queries=queries)
    Feed(tmp_path / "files", [work]).give_all()
    orders = Orders(works=[work], local=str(tmp_path / "local"), ends=True, files=files, master=CLUSTER)
    life = Life(orders, tmp_path / "life.log")
    try:
        for batch in KILLED_AT:
            assert life.wait_for(f"batch totals {batch}\n"), life.log
            os.kill(executors(life.pid)[0], signal.SIGKILL)
            tally.kills += 1
        assert life.end() == 0, life.log.read_text(errors="replace")[-5000:]
    finally:
        life.kill()
    check_output(tally, work.path, expect(batches, queries))
    restarts = re.findall(r'ended \w+ .*"restarts": (\d+)', life.log.read_text(errors="replace"))
    assert sum(map(int, restarts)) > 0
    tally.faults += len(KILLED_AT) * len(queries)


def test_a_lost_executor_costs_no_restart_where_its_changelogs_are_in_storage(
    files: str, tmp_path: Path, tally: Tally
) -> None:
    """It is killed between two batches; the only checkpoint is of the first one."""
    queries = ("chains", "totals")
    batches = make_input(tmp_path / "files", 9)
    work = Work(folder=str(tmp_path / "work"), format=2, interval=3600, restarts=20, uploads=True, queries=queries)
    feed = Feed(tmp_path / "files", [work])
    orders = Orders(works=[work], local=str(tmp_path / "local"), ends=False, files=files, master=CLUSTER)
    life = Life(orders, tmp_path / "life.log")

    def copied() -> bool:
        newest = (list(work.checkpoint(query).glob(f"state/0/*/{feed.given}_*.changelog")) for query in queries)
        return feed.taken_in == feed.given and all(len(stores) >= 2 for stores in newest)

    try:
        for given in (3, 5, 7):
            feed.give(given)
            assert life.wait_until(copied), tell(life)
            os.kill(executors(life.pid)[0], signal.SIGKILL)
            tally.kills += 1
        feed.give(8)
        assert life.wait_until(copied), tell(life)
        assert not life.said("starts again"), tell(life)
    finally:
        life.kill()
    feed.give_all()
    last = Life(
        Orders(works=[work], local=str(tmp_path / "local"), ends=True, files=files), tmp_path / "last.log", feed
    )
    assert last.end() == 0, tell(last)
    check_output(tally, work.path, expect(batches, queries))
    tally.faults += 4 * len(queries)
