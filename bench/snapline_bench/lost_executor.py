"""A micro-batch after one of three executors was killed, beside the batches before: the time that the loss costs."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline_bench import cpu, incremental
from snapline_bench.events import UpdateEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.outside import executors
from snapline_bench.provider import CHANGELOG, COORDINATED, OURS, Provider, find_snapline_jar, snapline_provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, summary

#: With an interval, and changelogs that go to storage behind the batches.
UPLOADS = f"{OURS}-uploads"
#: Every batch durable.
DURABLE = OURS
NAMES = (UPLOADS, DURABLE, CHANGELOG.name)
TITLES = {
    UPLOADS: "Snapline, an interval, changelogs in storage",
    DURABLE: "Snapline, every batch durable",
    CHANGELOG.name: CHANGELOG.title,
}
MASTER = "local-cluster[3,1,2048]"


@dataclass(frozen=True)
class Sizes:
    """`keys`: in state after the first batch. `changed`: of these in each batch. `between`: batches before a kill, so
    many that the executor which followed the one before has its share.
    """

    keys: int = 1_000_000
    changed: int = 10_000
    partitions: int = 6
    warm_up: int = 10
    kills: int = 4
    between: int = 15
    memory: str = "2g"


QUICK = Sizes(keys=50_000, changed=1_000, warm_up=5, kills=2, between=3)
REPS = 3
FIGURES = {
    "batch_ms": "a batch, ms",
    "lost_ms": "a batch after a loss, ms",
    "added_ms": "more than a batch, ms",
    "most_ms": "the most more, ms",
    "usual_most_ms": "the longest other batch, ms",
    "load_ms": "loads of state in another batch, at most, ms",
    "restarts": "restarts",
    "others": "other load, cores",
}
GOALS = [
    Goal("most_ms", Part.ABSOLUTE, UPLOADS, 2000, UPLOADS),
    Goal("restarts", Part.ABSOLUTE, UPLOADS, 0, UPLOADS),
    Goal("added_ms", Part.WHOLE, CHANGELOG.name, None, UPLOADS),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    found = find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar of Snapline: build it or give --jar PATH")
    ours = snapline_provider(found, {**COORDINATED, **settings})
    known = {name: replace(ours, name=name, title=TITLES[name]) for name in (UPLOADS, DURABLE)}
    known[CHANGELOG.name] = CHANGELOG
    return [known[name] for name in names if name in known]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    measured_batches = sizes.kills * (sizes.between + 1)
    first, *rest = prepare(UpdateEvents(sizes.keys, sizes.changed, sizes.warm_up + measured_batches), job.data)
    builder = SparkSession.builder.master(MASTER).config("spark.executor.memory", "2g")
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory, builder)
    spark.conf.set("spark.sql.shuffle.partitions", str(sizes.partitions))
    stream = Stream(spark, incremental.WORKLOAD, job.scratch, job.scratch / "checkpoint")
    stream.start(how(job.provider.name))
    one(stream, first)
    query: Any = stream.query
    if job.provider.name == UPLOADS:
        # What is lost later was changed since this checkpoint.
        query.trigger_checkpoint()
    for batch in rest[: sizes.warm_up]:
        one(stream, batch)
    before = cpu.read()
    usual, lost, loads, measured = [], [], [], []
    for number, batch in enumerate(rest[sizes.warm_up :]):
        is_after_kill = number % (sizes.between + 1) == sizes.between
        if is_after_kill:
            os.kill(executors(os.getpid())[0], signal.SIGKILL)
        progress = one(stream, batch)
        (lost if is_after_kill else usual).append(progress["durationMs"]["triggerExecution"])
        measured.append(summary(progress))
        if not is_after_kill:
            # Of all stores: those that move to the executor which follows.
            loads.append(progress["stateOperators"][0]["customMetrics"]["rocksdbLoadLatencyMs"])
    restarts = query.restarts if job.provider.name == UPLOADS else 0
    usage = cpu.read().since(before)
    stream.stop()
    spark.stop()
    # A later batch runs on the executor that follows, whose code is cold. It is one of the usual ones.
    batch_ms = median(usual)
    return {
        "figures": {
            "batch_ms": batch_ms,
            "lost_ms": median(lost),
            "added_ms": median(lost) - batch_ms,
            "most_ms": max(lost) - batch_ms,
            "usual_most_ms": max(usual),
            "load_ms": max(loads),
            "restarts": restarts,
            "others": usage.others,
        },
        "batches": measured,
    }


def how(name: str) -> Any:
    """The way in which its query starts; None: Spark's own."""
    if name != UPLOADS:
        return None
    config = CheckpointConfig(interval=timedelta(hours=1), upload_changelogs=True)
    return lambda writer: snapline.start(writer, config)


def one(stream: Stream, batch: Path) -> Any:
    """The progress of one micro-batch."""
    stream.land([batch])
    (progress,) = stream.drain()
    return progress
