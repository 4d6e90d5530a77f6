"""A keyed function in real-time mode for half an hour: does anything grow, and do rows wait longer?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from snapline_bench import cpu, real_time
from snapline_bench.flat import Point, trend
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.outside import kafka
from snapline_bench.provider import OURS, Provider
from snapline_bench.sampling import held
from snapline_bench.traffic import Feed, traffic


@dataclass(frozen=True)
class Sizes:
    """
    Attributes:
        rate: rows a second.
        every: seconds from one sample to the next, over which rows are timed.
        settle: seconds at the beginning that do not count.
    """

    minutes: float = 30.0
    batch: int = 10
    rate: int = 500
    every: float = 15.0
    settle: float = 300.0
    memory: str = "1g"


QUICK = Sizes(minutes=3.0, settle=60.0)
REPS = 1
LINE = real_time.LINE
NAMES = (OURS,)
KINDS = {
    "heap": ("heap after GC, MB", 1e6),
    "jvm_rss": ("RSS of the driver's JVM, MB", 1e6),
    "python_rss": ("RSS of the workers, MB", 1e6),
    "descriptors": ("open descriptors", 1),
}
FIGURES = {
    "rows": "rows, each counted",
    "p50_first": "first third: p50 ms",
    "p50_last": "last third: p50 ms",
    **{name: title for name, (title, _) in KINDS.items()},
    **{f"{name}_growth": f"growth of {title.removesuffix(', MB')}" for name, (title, _) in KINDS.items()},
    "others": "other load, cores",
}
# Spark keeps so much of what has ended, and a row table so many rows: else both still grow towards their bounds after
# half an hour.
SHORT_MEMORY = {
    "spark.snapline.state.backend.row-table.memory-fraction": "0.004",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
}
GOALS = [Goal(f"{name}_growth", Part.ABSOLUTE, "", 0.1) for name in KINDS]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    # A heap that is whole from the beginning: what the JVM's RSS gains then is native memory.
    whole = {"spark.driver.extraJavaOptions": "-Xms1g -XX:+AlwaysPreTouch"}
    return real_time.choose(names, jar, {**whole, **SHORT_MEMORY, **settings})


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    samples: list[dict[str, Any]] = []
    readings = [cpu.read()]
    rows = 0
    with kafka(job.scratch) as target:
        for topic in ("in", "out"):
            target.make(topic, real_time.PARTITIONS)
        like = real_time.Sizes(batch=sizes.batch, memory=sizes.memory)
        feed = Feed(target.address, counts=True)
        with traffic(feed) as sender, real_time.spark_query(job, target, like) as spark:
            sender.at(sizes.rate, 30)
            java: Any = spark._jvm
            driver = java.java.lang.ProcessHandle.current().pid()
            runtime = java.java.lang.Runtime.getRuntime()
            begun = time.monotonic()
            while (at := time.monotonic() - begun) < sizes.minutes * 60:
                times = sender.at(sizes.rate, sizes.every)
                rows += times.rows
                java.System.gc()
                heap = runtime.totalMemory() - runtime.freeMemory()
                now = held(driver)
                readings.append(cpu.read())
                samples.append(
                    {
                        "at": at,
                        "p50": times.p50,
                        "p99": times.p99,
                        "heap": heap,
                        "jvm_rss": now.jvm_rss,
                        "python_rss": now.python_rss,
                        "descriptors": now.descriptors,
                    }
                )
    return {"figures": figures(samples, rows, sizes.settle, readings), "batches": [], "samples": samples}


def figures(samples: list[dict[str, Any]], rows: int, settle: float, readings: list[cpu.Reading]) -> dict[str, float]:
    counted = [sample for sample in samples if sample["at"] >= settle]
    third = max(1, len(counted) // 3)
    found: dict[str, float] = {
        "rows": rows,
        "p50_first": median(sample["p50"] for sample in counted[:third]),
        "p50_last": median(sample["p50"] for sample in counted[-third:]),
        "others": cpu.others_of(readings),
    }
    for name, (_, unit) in KINDS.items():
        line = trend([Point(sample["at"], sample[name]) for sample in counted])
        # What could not be measured meets no goal.
        found[name] = line.level / unit if line else float("nan")
        found[f"{name}_growth"] = line.growth if line else float("nan")
    return found
