"""What 1,000 stores in one executor hold: threads, open files, memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snapline_bench.aggregation import live_heap
from snapline_bench.events import SumEvents, prepare
from snapline_bench.goal import Goal
from snapline_bench.job import Job, Result
from snapline_bench.provider import CHANGELOG, HASHMAP, OURS, STORE
from snapline_bench.session import open_session
from snapline_bench.sheet import Sheet, number
from snapline_bench.stream import SUMS, Stream

NAMES = (OURS, HASHMAP, CHANGELOG.name)


@dataclass(frozen=True)
class Sizes:
    """Partitions of an aggregation, a store each, with so many keys each. A snapshot is due with every second batch,
    so that each store has its RocksDB open, and files in it."""

    stores: tuple[int, ...] = (10, 100, 1_000)
    keys: int = 200
    batches: int = 5
    memory: str = "4g"


QUICK = Sizes(stores=(10, 100))
REPS = 1
FIGURES = {
    "threads": "threads more",
    "files": "open files more",
    "native_mb": "memory outside the heap, MB more",
    "heap_mb": "heap, MB more",
    "others": "other load, cores",
}
GOALS: list[Goal] = []


@dataclass(frozen=True)
class Held:
    """By a JVM, as /proc and the JVM itself say; bytes."""

    threads: int
    files: int
    resident: int
    heap: int
    committed: int

    @classmethod
    def now(cls, spark: Any) -> Held:
        heap = live_heap(spark)
        java = spark._jvm.java.lang
        process = Path("/proc") / str(java.ProcessHandle.current().pid())
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
        return cls(
            threads=int(status["Threads"]),
            files=len(os.listdir(process / "fd")),  # noqa: PTH208
            resident=int(status["VmRSS"].split()[0]) * 1024,
            heap=int(heap),
            committed=int(java.Runtime.getRuntime().totalMemory()),
        )

    def beyond(self, idle: Held) -> dict[str, float]:
        """The heap is touched whole when the JVM begins, so that what it gains beside it is native."""
        return {
            "threads": self.threads - idle.threads,
            "files": self.files - idle.files,
            "native_mb": (self.resident - self.committed - idle.resident + idle.committed) / 1e6,
            "heap_mb": (self.heap - idle.heap) / 1e6,
        }


def measure(job: Job) -> Result:
    sizes = Sizes(**{name: tuple(each) if isinstance(each, list) else each for name, each in job.sizes.items()})
    settings = {
        "spark.driver.extraJavaOptions": f"-Xms{sizes.memory} -XX:+AlwaysPreTouch",
        f"{STORE}.minDeltasForSnapshot": "2",
    }
    provider = replace(job.provider, settings={**settings, **job.provider.settings})
    spark = open_session(provider, job.null_jar, job.scratch, maintenance="60s", memory=sizes.memory)
    # Once for nothing: classes, code and thread pools are then there.
    _run(spark, job, sizes, 2, lambda: None)
    idle = Held.now(spark)
    points: list[dict[str, float]] = []
    for stores in sizes.stores:
        _run(spark, job, sizes, stores, lambda: points.append(Held.now(spark).beyond(idle)))
        points[-1]["stores"] = stores
        print(points[-1], flush=True)
    spark.stop()
    figures = {name: points[-1].get(name, 0.0) for name in FIGURES}
    return {"figures": figures, "points": points}


def _run(spark: Any, job: Job, sizes: Sizes, stores: int, then: Callable[[], None]) -> None:
    """`then`: while the stores of that many partitions are open."""
    batches = prepare(SumEvents(stores * sizes.keys, stores * sizes.keys, sizes.batches), job.data)
    folder = job.scratch / f"stores-{stores}"
    spark.conf.set("spark.sql.shuffle.partitions", stores)
    stream = Stream(spark, SUMS, folder, folder / "checkpoint")
    stream.start()
    for batch in batches:
        stream.land([batch])
        stream.drain()
    then()
    stream.stop()
    spark._jvm.io.snapline.bench.StoreMaintenance.unload()
    shutil.rmtree(folder)


def sheets(runs: list[dict[str, Any]]) -> list[Sheet]:
    shown = [name for name in FIGURES if name != "others"]
    rows = [
        (run["provider"], f"{point['stores']:,.0f}", *(number(point[name]) for name in shown))
        for run in runs
        for point in run["points"]
    ]
    return [Sheet("beyond an idle executor", ("provider", "stores", *(FIGURES[name] for name in shown)), rows)]
