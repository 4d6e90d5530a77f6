"""Spark moves tasks while queries run: second copies of slow ones, executors that it ends and starts.

Workers have hosts of their own: Spark runs no second copy of a task on the host of the first. What was moved is counted
in Spark's event log, so that a run in which nothing moved fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ..systems.standalone import Standalone
from .life import Life
from .moved import ALLOCATION, DECOMMISSION, EVENTS, SPECULATION, Moved, tell, works_of
from .tally import Tally
from .unharmed import Unharmed

TIMES = 4
"""How often each test moves something."""
MOST = 12
"""Tasks that are held until so many second copies have won. Those of an interval have no state to win with."""
REAPER = {"spark.task.reaper.enabled": "true", "spark.task.reaper.killTimeout": "1s"}
REAPER |= {"spark.task.reaper.pollingInterval": "200ms", "spark.task.reaper.threadDump": "false"}


def test_a_second_copy_of_a_task_wins(cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally) -> None:
    """The first goes on, and writes its changelog after the other's was taken."""
    moved = Moved(tmp_path, cluster, unharmed, SPECULATION, works_of(tmp_path))

    def hold(life: Life) -> int:
        for _ in range(MOST):
            moved.hold_a_task(life, 3000)
            assert life.wait_after(EVENTS, 3), tell(life)
            if moved.copies() >= TIMES:
                break
        return moved.copies()

    moved.live(hold, tally)
    print(f"{moved.copies()} copies of tasks were taken")
    assert moved.copies() >= TIMES


def test_the_reaper_ends_an_executor_whose_task_does_not_end(
    cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally
) -> None:
    moved = Moved(tmp_path, cluster, unharmed, SPECULATION | REAPER, works_of(tmp_path))

    def hold(life: Life) -> int:
        for number in range(TIMES):
            moved.hold_a_task(life, 3_600_000)
            assert life.wait_until(lambda: len(moved.events("ExecutorRemoved")) > number), tell(life)  # noqa: B023
            assert life.wait_after(EVENTS, 0), tell(life)
        return TIMES

    moved.live(hold, tally)
    tally.kills += len(moved.events("ExecutorRemoved"))
    assert moved.copies() > 0


@pytest.mark.parametrize("how", [{}, DECOMMISSION], ids=["ended", "decommissioned"])
def test_executors_come_and_go(
    cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally, how: Mapping[str, str]
) -> None:
    """With nothing to do for a second Spark ends them all, and starts others with the next rows.

    The checkpoints of an interval never come. In the last mode changelogs are on the executors alone. In those before
    it, they are in storage, and nothing starts again.
    """
    works = works_of(tmp_path)
    *_, last = (work for work in works if work.interval is not None)
    works = [
        work if work.interval is None else replace(work, interval=3600, uploads=work is not last) for work in works
    ]
    moved = Moved(tmp_path, cluster, unharmed, ALLOCATION | how, works)

    def pause(life: Life) -> int:
        for number in range(1, TIMES + 1):
            assert life.wait_until(lambda: moved.feed.taken_in >= number), tell(life)  # noqa: B023
            assert life.wait_until(lambda: not moved.executors), tell(life)
            moved.feed.give(number + 1)
        return TIMES

    moved.live(pause, tally, fed=False)
    removed = len(moved.events("ExecutorRemoved"))
    print(f"{removed} executors were ended; {moved.restarts} restarts")
    assert removed >= TIMES
    # Of the mode whose changelogs are on the executors alone.
    assert moved.restarts >= TIMES
