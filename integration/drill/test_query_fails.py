"""The query fails and the driver lives: it goes on by itself as its restart strategy says, and nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .check import check_output
from .expected import expect, make_input
from .feed import Feed
from .life import Life
from .tally import Tally
from .work import Orders, Work

FILES = 12
QUERIES = ("chains", "totals")
FAILS_AT = 3


@pytest.mark.parametrize("what", ["sink", "storage"])
def test_a_query_goes_on_by_itself(what: str, files: str, tmp_path: Path, tally: Tally) -> None:
    """In both formats of Spark's checkpoints, with and without an interval, side by side."""
    batches = make_input(tmp_path / "files", FILES)
    works = [
        Work(
            folder=str(tmp_path / f"{version}-{interval}"),
            format=version,
            interval=interval,
            restarts=1000,
            queries=QUERIES,
            tables=QUERIES,
        )
        for version in (1, 2)
        for interval in (None, 0.5)
    ]
    outage = tmp_path / "storage.gone"
    java = [f"-Ddrill.outage={outage}"]
    flags = [outage] if what == "storage" else [work.path / f"{query}.gone" for work in works for query in QUERIES]
    feed = Feed(tmp_path / "files", works)
    orders = Orders(works=works, local=str(tmp_path / "local"), ends=False, files=files, java=java)
    life = Life(orders, tmp_path / "life.log", feed)
    try:
        assert life.wait_until(lambda: feed.taken_in >= FAILS_AT), life.log
        for flag in flags:
            flag.touch()
        # More than one attempt of some query has failed before it is over.
        assert life.wait_until(lambda: failures(life.log) > 2 * len(works) * len(QUERIES)), life.log
        for flag in flags:
            flag.unlink()
        assert life.wait_until(lambda: feed.dry), life.log
    finally:
        life.kill()
    assert f"the {what} is gone" in life.log.read_text(errors="replace")
    feed.give_all()
    last = Life(Orders(works=works, local=orders.local, ends=True, files=files), tmp_path / "last.log", feed)
    assert last.end() == 0, last.log.read_text(errors="replace")[-5000:]
    tally.modes = len(works)
    for work in works:
        check_output(tally, work.path, expect(batches, QUERIES))
        tally.faults += 1


def failures(log: Path) -> int:
    return len(re.findall(r"The query failed and starts again", log.read_text(errors="replace")))
