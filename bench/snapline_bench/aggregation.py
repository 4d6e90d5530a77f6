"""A grouped sum with many keys: what a micro-batch costs in CPU and in time, and how much of it is the store's."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from pyspark.sql import SparkSession

from snapline_bench.events import SumEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import HASHMAP
from snapline_bench.session import open_session
from snapline_bench.stream import SUMS, Stream, summary


@dataclass(frozen=True)
class Sizes:
    rows: int = 200_000
    keys: int = 500_000
    warm_up: int = 5
    batches: int = 20
    maintenance: str = "60s"
    memory: str = "4g"

    def events(self) -> SumEvents:
        return SumEvents(self.rows, self.keys, self.warm_up + self.batches)


QUICK = Sizes(batches=8)
REPS = 5
FIGURES = {
    "cpu_us_event": "CPU us / event",
    "wall_ms": "batch ms",
    "commit_ms": "commit ms, 2 tasks",
    "update_ms": "update ms, 2 tasks",
    "heap_mb": "heap MB",
    "others": "other load, cores",
}
STATE_PART = ("cpu_us_event", "wall_ms", "heap_mb")
GOALS = [
    Goal("cpu_us_event", Part.STATE, "changelog", 0.5),
    Goal("cpu_us_event", Part.STATE, "hdfs", 1.0),
    Goal("wall_ms", Part.STATE, "changelog", 0.5),
    Goal("wall_ms", Part.STATE, "hdfs", 1.0),
    Goal("wall_ms", Part.WHOLE, "changelog", 1.0),
    Goal("wall_ms", Part.WHOLE, "hdfs", 1.0),
    Goal("commit_ms", Part.WHOLE, "changelog", 0.5),
    Goal("cpu_us_event", Part.STATE, "rocksdb", None),
    Goal("wall_ms", Part.STATE, "rocksdb", None),
    Goal("wall_ms", Part.WHOLE, "rocksdb", None),
    Goal("commit_ms", Part.WHOLE, "rocksdb", None),
    Goal("commit_ms", Part.WHOLE, "hdfs", None),
    Goal("cpu_us_event", Part.STATE, "hdfs", 0.7, HASHMAP),
    Goal("wall_ms", Part.STATE, "hdfs", 0.7, HASHMAP),
    Goal("commit_ms", Part.WHOLE, "hdfs", 0.5, HASHMAP),
    Goal("heap_mb", Part.STATE, "hdfs", 0.7, HASHMAP),
]


def live_heap(spark: SparkSession) -> float:
    """Bytes of the heap that are in use once the garbage is gone; the keys are the same on every provider."""
    jvm: Any = spark._jvm
    memory = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    used = []
    for _ in range(3):
        jvm.java.lang.System.gc()
        used.append(float(memory.getHeapMemoryUsage().getUsed()))
    return min(used)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    batches = prepare(sizes.events(), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, sizes.maintenance, sizes.memory)
    stream = Stream(spark, SUMS, job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :])
    measured = [summary(each) for each in progress]
    heap = live_heap(spark)
    stream.stop()
    spark.stop()
    events = sum(batch["rows"] for batch in measured)
    assert events == sizes.rows * sizes.batches, f"{events} events in {len(measured)} batches"
    return {
        "figures": {
            "cpu_us_event": usage.cpu_s / events * 1e6,
            "wall_ms": median(batch["wall_ms"] for batch in measured),
            "wall_mean_ms": mean(batch["wall_ms"] for batch in measured),
            "add_batch_ms": median(batch["add_batch_ms"] for batch in measured),
            "commit_ms": median(batch["commit_ms"] for batch in measured),
            "update_ms": median(batch["update_ms"] for batch in measured),
            "heap_mb": heap / 1e6,
            "elapsed_ms_batch": usage.elapsed_s / sizes.batches * 1e3,
            "others": usage.others,
        },
        "batches": measured,
    }
