"""Small micro-batches on a local disk: Spark's logs through Hadoop's local file system, and through Snapline's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from snapline_bench.events import SumEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import SUMS, Stream

HADOOP = "hadoop"
NAMES = (HADOOP, OURS)
TITLES = {HADOOP: "Hadoop's", OURS: "Snapline's"}
SETTING = "spark.hadoop.fs.AbstractFileSystem.file.impl"
CLASSES = {HADOOP: "org.apache.hadoop.fs.local.LocalFs", OURS: "io.snapline.storage.LocalFs"}
# What Spark says of its logs in the progress of a batch: the source's, the offsets, the commit.
LOGS = ("latestOffset", "walCommit", "commitOffsets")


@dataclass(frozen=True)
class Sizes:
    keys: int = 1_000
    rows: int = 100
    warm_up: int = 40
    batches: int = 100
    memory: str = "2g"


QUICK = Sizes(warm_up=15, batches=30)
REPS = 3
FIGURES = {
    "wall_ms": "batch ms",
    "logs_ms": "of it, Spark's logs",
    "cpu_ms": "CPU ms / batch",
    "others": "other load, cores",
}
GOALS = [Goal("wall_ms", Part.WHOLE, HADOOP, None), Goal("cpu_ms", Part.WHOLE, HADOOP, None)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return [
        replace(each, settings={SETTING: CLASSES[each.name], **each.settings})
        for each in sessions(names, TITLES, jar, settings)
    ]


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    batches = prepare(SumEvents(sizes.rows, sizes.keys, sizes.warm_up + sizes.batches), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = Stream(spark, SUMS, job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :])
    durations = [each["durationMs"] for each in progress]
    stream.stop()
    spark.stop()
    return {
        "figures": {
            "wall_ms": median(each["triggerExecution"] for each in durations),
            "logs_ms": median(sum(each[log] for log in LOGS) for each in durations),
            "cpu_ms": usage.cpu_s / sizes.batches * 1e3,
            "others": usage.others,
        },
        "batches": [{"wall_ms": each["triggerExecution"]} for each in durations],
    }
