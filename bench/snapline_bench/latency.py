"""A micro-batch of ten rows: a keyed function beside one without state and without a store."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from snapline_bench import keyed, provider
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.keyed import ROW
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, summary

STATELESS = "stateless"
NAMES = (STATELESS, ROW, OURS)


@dataclass(frozen=True)
class Sizes:
    keys: int = 1_000
    rows: int = 10
    warm_up: int = 40
    batches: int = 100
    memory: str = "4g"


QUICK = Sizes(warm_up=15, batches=30)
REPS = 3
FIGURES = {"wall_ms": "addBatch ms", "cpu_ms": "CPU ms / batch", "others": "other load, cores"}
GOALS = [Goal("wall_ms", Part.ADDED, STATELESS, 30.0), Goal("wall_ms", Part.WHOLE, ROW, None)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    known = {p.name: p for p in keyed.find_engines([ROW, OURS], jar, settings)}
    known[STATELESS] = Provider(STATELESS, "stateless", provider.ROCKSDB.class_name)
    return [known[name] for name in names if name in known]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(KeyedEvents(sizes.rows, sizes.keys, 0, sizes.warm_up + sizes.batches), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = Stream(spark, keyed.transform(job.provider.name, 0), job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :])
    measured = [summary(each) for each in progress] if job.provider.name != STATELESS else []
    wall = median(each["durationMs"]["addBatch"] for each in progress)
    stream.stop()
    spark.stop()
    return {
        "figures": {"wall_ms": wall, "cpu_ms": usage.cpu_s / sizes.batches * 1e3, "others": usage.others},
        "batches": measured,
    }
