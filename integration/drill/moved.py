"""Queries on a cluster whose executors come and go, and what Spark's event log says of its tasks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..cluster.test_cluster import executors
from ..systems.standalone import Standalone
from .feed import Feed
from .life import Life
from .lives import SEED
from .modes import MODES
from .tally import Tally
from .unharmed import Unharmed, complaints
from .work import Orders, Work

HOSTS = ("127.0.0.1", "127.0.0.2")
CHOSEN = ("every-batch-1-rocksdb", "every-batch-2-hashmap", "interval-1-hashmap", "merged-2-rocksdb")
QUERIES = ("chains", "totals")
EVENTS = 4
"""Entries of the logs of all queries between two of these times."""

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
}
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


def works_of(base: Path, modes: Sequence[str] = CHOSEN, seed: int = SEED) -> list[Work]:
    """A folder below `base` for each mode, with the settings that the seed draws."""
    chance = random.Random(seed)
    works = [MODES[mode].work(str(base / mode), chance, restarts=1000) for mode in modes]
    return [replace(work, queries=QUERIES) for work in works]


@dataclass
class Moved:
    """The queries of some works in one driver, and a cluster that moves their tasks.

    Attributes:
        feed: of all of them.
        stuck: a task that finds this file stays for as many milliseconds as it says (`LocalFiles.java`).
    """

    base: Path
    cluster: Standalone
    unharmed: Unharmed
    conf: Mapping[str, str]
    works: Sequence[Work]

    def __post_init__(self) -> None:
        self.feed = Feed(self.unharmed.source, self.works)
        self.log = self.base / "life.log"
        self.stuck = self.base / "stuck"
        self._events = self.base / "events"
        self._events.mkdir()

    def live(self, disturb: Callable[[Life], int], tally: Tally, fed: bool = True) -> int:
        """One life that is disturbed, and one that takes in the rest; then all is compared.

        Args:
            disturb: gives how often it did.
            fed: the queries get their files by themselves, one after the other.

        Returns:
            how often it was disturbed.
        """
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
        life = Life(orders, self.log, self.feed if fed else None, environment={"SPARK_LOCAL_IP": HOSTS[0]})
        try:
            assert life.wait_for("\nsession\n"), tell(life)
            times = disturb(life)
        finally:
            life.kill()
        self.feed.give_all()
        last = Life(self._orders(ends=True), self.base / "last.log", self.feed)
        assert last.end() == 0, tell(last)
        tally.modes = len(self.works)
        for work in self.works:
            self.unharmed.compare(tally, work.path)
            tally.faults += times
        return times

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

    @property
    def executors(self) -> list[int]:
        """Process ids of those that run."""
        return [each for worker in self.cluster.workers for each in executors(worker.pid)]

    @property
    def restarts(self) -> int:
        """Of queries, in the life that was disturbed."""
        return self.log.read_text(errors="replace").count("starts again")

    def copies(self) -> int:
        """Second copies of tasks that ended well."""
        ends = self.events("TaskEnd")
        return sum(
            end["Task Info"]["Speculative"] and end["Task End Reason"]["Reason"] == "Success"  # type: ignore[index]
            for end in ends
        )


def tell(life: Life) -> str:
    return f"seed {SEED}, {life.log}:\n" + "\n".join(complaints(life.log))
