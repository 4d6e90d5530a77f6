"""Spark moves tasks while queries run: second copies of slow ones, executors that it ends and starts.

Workers have hosts of their own: Spark runs no second copy of a task on the host of the first. What was moved is counted
in Spark's event log, so that a run in which nothing moved fails.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ..cluster.test_cluster import executors
from ..systems.standalone import Standalone
from .feed import Feed
from .life import Life
from .lives import SEED
from .modes import MODES
from .tally import Tally
from .unharmed import Unharmed, complaints
from .work import Orders

HOSTS = ("127.0.0.1", "127.0.0.2")
CHOSEN = ("every-batch-1-rocksdb", "every-batch-2-hashmap", "interval-1-hashmap", "merged-2-rocksdb")
QUERIES = ("chains", "totals")
TIMES = 4
"""How often each test moves something."""
MOST = 12
"""Tasks that are held until so many second copies have won. Those of an interval have no state to win with."""
EVENTS = 4
"""Entries of the logs of all queries between two of these times."""

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
}
REAPER = {"spark.task.reaper.enabled": "true", "spark.task.reaper.killTimeout": "1s"}
REAPER |= {"spark.task.reaper.pollingInterval": "200ms", "spark.task.reaper.threadDump": "false"}
ALLOCATION = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "1s",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
}
# Without moving shuffle files: Spark would keep the executor that has them last.
DECOMMISSION = {"spark.decommission.enabled": "true"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with Standalone(tmp_path_factory.mktemp("standalone"), workers=len(HOSTS), hosts=HOSTS) as cluster:
        yield cluster


@dataclass
class Moved:
    """Queries of some modes in one driver, and what is done to their tasks.

    Attributes:
        never: the checkpoints of an interval never come. In the last mode what an executor had is nowhere else. In
            those before it, changelogs are in storage, and nothing starts again.
        stuck: a task that finds this file stays for as many milliseconds as it says (`LocalFiles.java`).
    """

    base: Path
    cluster: Standalone
    unharmed: Unharmed
    conf: Mapping[str, str]
    modes: Sequence[str] = CHOSEN
    never: bool = False

    def __post_init__(self) -> None:
        chance = random.Random(SEED)
        works = [MODES[mode].work(str(self.base / mode), chance, restarts=1000) for mode in self.modes]
        self.works = [replace(work, queries=QUERIES) for work in works]
        if self.never:
            *_, last = (work for work in self.works if work.interval is not None)
            self.works = [
                work if work.interval is None else replace(work, interval=3600, uploads=work is not last)
                for work in self.works
            ]
        self.feed = Feed(self.unharmed.source, self.works)
        self.stuck = self.base / "stuck"
        self._events = self.base / "events"
        self._events.mkdir()

    def live(self, disturb: Callable[[Life], None], tally: Tally, fed: bool = True) -> None:
        """``fed``: the queries get their files by themselves, one after the other."""
        conf = {
            # Compilers as in the driver: no executor lives long.
            "spark.executor.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Ddrill.stuck={self.stuck}",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self._events.as_uri(),
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            **self.conf,
        }
        orders = self._orders(ends=False, conf=conf, master=self.cluster.address)
        life = Life(
            orders, self.base / "life.log", self.feed if fed else None, environment={"SPARK_LOCAL_IP": HOSTS[0]}
        )
        try:
            assert life.wait_for("\nsession\n"), tell(life)
            disturb(life)
        finally:
            life.kill()
        self.feed.give_all()
        last = Life(self._orders(ends=True), self.base / "last.log", self.feed)
        assert last.end() == 0, tell(last)
        tally.modes = len(self.modes)
        for work in self.works:
            self.unharmed.compare(tally, work.path)
            tally.faults += TIMES

    def _orders(self, ends: bool, **more: object) -> Orders:
        files, java = self.unharmed.files, self.unharmed.java
        return Orders(works=self.works, local=str(self.base / "local"), ends=ends, files=files, java=java, **more)  # type: ignore[arg-type]

    def hold_a_task(self, life: Life, milliseconds: int) -> None:
        """Some task, in the commit of its state."""
        part = self.stuck.with_suffix(".part")
        part.write_text(str(milliseconds))
        part.rename(self.stuck)
        assert life.wait_until(lambda: not self.stuck.exists()), tell(life)

    def events(self, kind: str) -> list[dict[str, object]]:
        """Of the session, so far. A driver that is killed leaves its last line unfinished."""
        found = []
        for path in self._events.iterdir():
            for line in path.read_text(errors="replace").splitlines():
                if f'"Event":"SparkListener{kind}"' in line and line.endswith("}"):
                    found.append(json.loads(line))
        return found

    def copies(self) -> int:
        """Second copies of tasks that ended well."""
        ends = self.events("TaskEnd")
        return sum(
            end["Task Info"]["Speculative"] and end["Task End Reason"]["Reason"] == "Success"  # type: ignore[index]
            for end in ends
        )


def tell(life: Life) -> str:
    return f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))


def test_a_second_copy_of_a_task_wins(cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally) -> None:
    """The first goes on, and writes its changelog after the other's was taken."""
    moved = Moved(tmp_path, cluster, unharmed, SPECULATION)

    def hold(life: Life) -> None:
        for _ in range(MOST):
            moved.hold_a_task(life, 3000)
            assert life.wait_after(EVENTS, 3), tell(life)
            if moved.copies() >= TIMES:
                return

    moved.live(hold, tally)
    print(f"{moved.copies()} copies of tasks were taken")
    assert moved.copies() >= TIMES


def test_the_reaper_ends_an_executor_whose_task_does_not_end(
    cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally
) -> None:
    moved = Moved(tmp_path, cluster, unharmed, SPECULATION | REAPER)

    def hold(life: Life) -> None:
        for number in range(TIMES):
            moved.hold_a_task(life, 3_600_000)
            assert life.wait_until(lambda: len(moved.events("ExecutorRemoved")) > number), tell(life)  # noqa: B023
            assert life.wait_after(EVENTS, 0), tell(life)

    moved.live(hold, tally)
    tally.kills += len(moved.events("ExecutorRemoved"))
    assert moved.copies() > 0


@pytest.mark.parametrize("how", [{}, DECOMMISSION], ids=["ended", "decommissioned"])
def test_executors_come_and_go(
    cluster: Standalone, unharmed: Unharmed, tmp_path: Path, tally: Tally, how: Mapping[str, str]
) -> None:
    """With nothing to do for a second Spark ends them all, and starts others with the next rows."""
    moved = Moved(tmp_path, cluster, unharmed, ALLOCATION | how, never=True)

    def pause(life: Life) -> None:
        for number in range(1, TIMES + 1):
            assert life.wait_until(lambda: moved.feed.taken_in >= number), tell(life)  # noqa: B023
            assert life.wait_until(lambda: not any(executors(worker.pid) for worker in cluster.workers)), tell(life)
            moved.feed.give(number + 1)

    moved.live(pause, tally, fed=False)
    removed = len(moved.events("ExecutorRemoved"))
    restarts = (tmp_path / "life.log").read_text(errors="replace").count("starts again")
    print(f"{removed} executors were ended; {restarts} restarts")
    assert removed >= TIMES
    # Of the mode whose changelogs are on the executors alone.
    assert restarts >= TIMES
