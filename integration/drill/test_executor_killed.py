"""Executors are killed under a query with checkpoints: it replays and goes on by itself, and nothing is lost."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from ..cluster.test_cluster import executors
from .check import check_output
from .expected import expect, make_input
from .feed import Feed
from .life import Life
from .tally import Tally
from .work import Orders, Work

FILES = 9
KILLED_AT = (2, 6)
QUERIES = ("chains", "totals")


@pytest.mark.parametrize("version", [1, 2])
def test_a_query_goes_on_by_itself_when_executors_are_killed(
    version: int, files: str, tmp_path: Path, tally: Tally
) -> None:
    batches = make_input(tmp_path / "files", FILES)
    work = Work(folder=str(tmp_path / "work"), format=version, interval=3600, restarts=20, queries=QUERIES)
    Feed(tmp_path / "files", [work]).give_all()
    master, local = "local-cluster[2,1,1024]", str(tmp_path / "local")
    orders = Orders(works=[work], local=local, ends=True, files=files, master=master)
    life = Life(orders, tmp_path / "life.log")
    try:
        for batch in KILLED_AT:
            assert life.wait_for(f"batch totals {batch}\n"), life.log
            os.kill(executors(life.pid)[0], signal.SIGKILL)
            tally.kills += 1
        assert life.end() == 0, life.log.read_text(errors="replace")[-5000:]
    finally:
        life.kill()
    check_output(tally, work.path, expect(batches, QUERIES))
    # The state that was on the executors alone is gone: the queries really were started again.
    restarts = re.findall(r'ended \w+ .*"restarts": (\d+)', life.log.read_text(errors="replace"))
    assert sum(map(int, restarts)) > 0
    tally.faults += len(KILLED_AT) * len(QUERIES)
