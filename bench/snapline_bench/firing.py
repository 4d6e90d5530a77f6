"""Windows of a million keys that all fire in one micro-batch: what each costs, and what a Python worker holds."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from snapline_bench import cpu, windows
from snapline_bench.events import FiringEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import Stream, Workload, summary
from snapline_bench.workers import largest_worker_mb

TITLES = {OURS: "an aggregate", windows.ROWS: "the rows of each window"}
NAMES = tuple(TITLES)


@dataclass(frozen=True)
class Sizes:
    """Keys whose windows fire together: `few`, then `many`. Each has one row.

    Already the few are more than two workers hold at once (`spark.snapline.python.cache.max-keys`).
    """

    few: int = 500_000
    many: int = 1_000_000
    memory: str = "4g"


QUICK = Sizes(few=100_000, many=200_000)
REPS = 3
FIGURES = {
    "few_us": "few: CPU us / window",
    "many_us": "many: CPU us / window",
    "many_s": "many: batch s",
    "few_mb": "largest worker after few, MB",
    "many_mb": "after many, MB",
    "growth": "memory, many : few",
    "others": "other load, cores",
}
GOALS = [Goal("growth", Part.ABSOLUTE, "", 1.2), Goal("many_us", Part.WHOLE, OURS, None, windows.ROWS)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(FiringEvents((sizes.few, sizes.many), windows.SECONDS), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    # A batch that only moves the watermark fires the windows.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", False)
    engine = windows.ENGINES[job.provider.name]
    workload = Workload(windows.SCHEMA, lambda rows: engine(rows.withWatermark("time", "0 seconds")))
    stream = Stream(spark, workload, job.scratch, job.scratch / "checkpoint", output_mode="append")
    stream.start()
    figures: dict[str, float] = {}
    measured = []
    for name, keys in (("few", sizes.few), ("many", sizes.many)):
        # The keys' rows, a row that moves the watermark behind the windows, and one more, in whose batch they fire.
        for _ in range(2):
            stream.land([batches.pop(0)])
            stream.drain()
        before = cpu.read()
        stream.land([batches.pop(0)])
        (progress,) = stream.drain()
        usage = cpu.read().since(before)
        fired = progress["stateOperators"][0]["customMetrics"]["numExpiredTimers"]
        assert fired >= keys, f"{fired} windows fired, and there are {keys}"
        figures |= {f"{name}_us": usage.cpu_s / keys * 1e6, f"{name}_mb": largest_worker_mb()}
        measured.append(summary(progress))
    stream.stop()
    spark.stop()
    figures["many_s"] = progress["durationMs"]["triggerExecution"] / 1e3
    figures["growth"] = figures["many_mb"] / figures["few_mb"]
    return {"figures": {**figures, "others": usage.others}, "batches": measured}
