"""Two drivers on one checkpoint: a second starts while the first runs; a paused one wakes when another has taken over.

The one that began last goes on; every query of the other ends with SNAPLINE-TAKEN-OVER, and stays ended, whatever its
restart strategy says. Output and state are then those of plain Python, and every file that a checkpoint names is there.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from snapline.errors import QueryTakenOver
from snapline.inspect import CheckpointFolder, verify

from .check import check_output
from .expected import expect, make_input
from .feed import Feed
from .life import Life
from .lives import SEED
from .tally import Tally
from .work import Orders, Work

FILES = 18
QUERIES = ("chains", "totals")
MODES = {
    f"{version}-{'every-batch' if interval is None else 'interval'}-{backend}": (version, interval, backend)
    for version in (1, 2)
    for interval, backend in ((None, "rocksdb"), (0.5, "hashmap"), (0.5, "rocksdb"))
}


@pytest.mark.parametrize("paused", [False, True], ids=["first-runs", "first-is-paused"])
def test_the_one_that_began_last_goes_on(paused: bool, files: str, tmp_path: Path, tally: Tally) -> None:
    print(f"seed {SEED}")
    chance = random.Random(f"{SEED} {paused}")
    batches = make_input(tmp_path / "files", FILES)
    works = [
        Work(
            folder=str(tmp_path / mode),
            format=version,
            interval=interval,
            backend=backend,
            merging=version == 2,
            retained=chance.randint(1, 2),
            restarts=1000,
            queries=QUERIES,
        )
        for mode, (version, interval, backend) in MODES.items()
    ]
    tally.modes = len(MODES)
    feed = Feed(tmp_path / "files", works)

    def start(name: str, ends: bool = False) -> Life:
        orders = Orders(works=works, local=str(tmp_path / "local"), ends=ends, files=files, persists=not ends)
        return Life(orders, tmp_path / f"{name}.log", feed)

    first = start("first")
    second: Life | None = None
    try:
        begun = chance.randint(2, 6)
        assert first.wait_until(lambda: feed.taken_in >= begun), first.log
        time.sleep(chance.uniform(0, 1))
        if paused:
            os.killpg(first.pid, signal.SIGSTOP)
            tally.kills += 1
        second = start("second")
        if paused:
            further = feed.taken_in + chance.randint(2, 6)
            assert second.wait_until(lambda: feed.taken_in >= further), second.log
            os.killpg(first.pid, signal.SIGCONT)
        assert second.wait_until(lambda: not first.running), second.log
        assert first.end() == 1, first.log
        # Killed between the log of the file source and that of the query, it would take two files into one batch.
        assert second.wait_until(lambda: feed.dry), second.log
        assert refused(second) == [], second.log
    finally:
        first.kill()
        if second is not None:
            second.kill()
            tally.kills += 1
    # Each query of the first, once: none came back.
    every = [(work.path.name, query) for work in works for query in QUERIES]
    assert sorted(refused(first)) == sorted(every), first.log
    for work in works:
        # Without an interval a checkpoint outlives the entries of Spark's logs that it needs.
        for query in QUERIES if work.interval is not None else ():
            verified = verify(CheckpointFolder(work.checkpoint(query)))
            assert not verified.damaged, (work.checkpoint(query), verified.findings)
    feed.give_all()
    last = start("last", ends=True)
    assert last.end() == 0, last.log.read_text(errors="replace")[-5000:]
    for work in works:
        check_output(tally, work.path, expect(batches, QUERIES))
        tally.faults += 2


def refused(life: Life) -> list[tuple[str, str]]:
    """Its queries that another driver has taken over."""
    # What the JVM prints may come before or behind it on its line.
    return re.findall(rf"refused (\S+) (\S+) {QueryTakenOver.code}", life.log.read_text(errors="replace"))
