"""A deduplication whose state outgrows the store's memory, and what a new key costs there, and after a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from snapline_bench import cpu, eviction
from snapline_bench.events import TimedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import CHANGELOG, OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, Workload


@dataclass(frozen=True)
class Sizes:
    """`rows`: new keys of a batch. A `window` of batches is measured when one is through, when all before the last one
    are, and when `settle` batches are through after the restart."""

    rows: int = 200_000
    batches: int = 60
    window: int = 10
    settle: int = 20
    memory: str = "2g"


QUICK = Sizes(rows=20_000, batches=8, window=2, settle=2)
REPS = 3
NAMES = (CHANGELOG.name, OURS)
FIGURES = {
    "small_cpu_us": "CPU us / new key, small state",
    "large_cpu_us": "the same, large state",
    "restarted_cpu_us": "the same, large state that was restarted",
    "small_ms": "batch ms, small state",
    "large_ms": "batch ms, large state",
    "restarted_ms": "batch ms, restarted",
    "growth": "CPU, large over small",
    "first_s": "restart: s until the first batch is through",
    "others": "other load, cores",
}
GOALS = [
    *(Goal(f"{when}_cpu_us", Part.WHOLE, CHANGELOG.name, 0.5) for when in ("large", "restarted")),
    Goal("growth", Part.ABSOLUTE, OURS, 1.2),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return eviction.choose(names, jar, settings)


def distinct(events: DataFrame) -> DataFrame:
    """By keys in no order."""
    return events.select(F.xxhash64("key").alias("key")).dropDuplicates()


WORKLOAD = Workload(eviction.SCHEMA, distinct)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    batches = prepare(TimedEvents(sizes.rows, sizes.rows, sizes.batches + sizes.settle + sizes.window - 1, 1), job.data)
    # A process of its own, which has ended: nothing of the state is in memory any more.
    builder = get_context("fork").Process(target=_grow, args=(job, sizes, batches[: sizes.batches]))
    builder.start()
    builder.join()
    assert builder.exitcode == 0, "the state did not grow"
    figures = json.loads(_grown(job).read_text())
    later = batches[sizes.batches :]
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = _stream(job, spark)
    stream.land(later[:1])
    before = cpu.read()
    stream.start()
    stream.drain()
    figures["first_s"] = cpu.read().since(before).elapsed_s
    stream.land(later[1 : sizes.settle])
    stream.drain()
    measured, rows = _window(stream, sizes, later[sizes.settle :], "restarted")
    assert rows == sizes.rows * len(batches), f"{rows} keys"
    stream.stop()
    spark.stop()
    figures |= {**measured, "others": max(figures["others"], measured["others"])}
    figures["growth"] = figures["large_cpu_us"] / figures["small_cpu_us"]
    return {"figures": figures, "batches": []}


def _grow(job: Job, sizes: Sizes, batches: list[Path]) -> None:
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = _stream(job, spark)
    stream.land(batches[: sizes.window])
    stream.start()
    stream.drain()
    small, _ = _window(stream, sizes, batches[sizes.window : 2 * sizes.window], "small")
    stream.land(batches[2 * sizes.window : -sizes.window])
    stream.drain()
    large, _ = _window(stream, sizes, batches[-sizes.window :], "large")
    stream.stop()
    spark.stop()
    _grown(job).write_text(json.dumps({**small, **large, "others": max(small["others"], large["others"])}))


def _window(stream: Stream, sizes: Sizes, batches: list[Path], when: str) -> tuple[dict[str, float], int]:
    """Its figures, and the number of rows that are kept at its end."""
    before = cpu.read()
    stream.land(batches)
    progress = stream.drain()
    usage = cpu.read().since(before)
    figures = {
        f"{when}_cpu_us": usage.cpu_s / (sizes.rows * len(batches)) * 1e6,
        f"{when}_ms": median(each["durationMs"]["triggerExecution"] for each in progress),
        "others": usage.others,
    }
    return figures, progress[-1]["stateOperators"][0]["numRowsTotal"]


def _stream(job: Job, spark: SparkSession) -> Stream:
    return Stream(spark, WORKLOAD, job.scratch / "stream", job.scratch / "checkpoint", goes_on=True)


def _grown(job: Job) -> Path:
    return job.scratch / "grown.json"
