"""Nexmark: the part of Spark, or of the store, that an event's CPU goes to."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from snapline_bench import nexmark
from snapline_bench.events import prepare
from snapline_bench.goal import Goal
from snapline_bench.job import Job, Result
from snapline_bench.jvm_profile import PARTS, JvmProfile
from snapline_bench.nexmark_events import NexmarkEvents
from snapline_bench.nexmark_queries import QUERIES
from snapline_bench.provider import HDFS, OURS, Provider
from snapline_bench.session import open_session

#: A store and a query; a keyed function runs on ours alone.
NAMES = tuple(
    f"{store}-{name}"
    for name, query in QUERIES.items()
    for store in (OURS, HDFS.name)
    if store == OURS or not query.keyed
)


@dataclass(frozen=True)
class Sizes:
    """`rows`: events of a batch."""

    rows: int = 200_000
    warm_up: int = 4
    batches: int = 12
    memory: str = "4g"


QUICK = Sizes(rows=50_000, warm_up=2, batches=4)
REPS = 3
FIGURES = {
    "cpu_us": "CPU us / event",
    **{part: f"of it {part}" for part in PARTS},
    "others": "other load, cores",
}
GOALS: list[Goal] = []


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    stores = {each.name: each for each in nexmark.choose([OURS, HDFS.name], jar, settings)}
    parts = [(name, *name.split("-")) for name in names if name in NAMES]
    return [replace(stores[store], name=name, title=f"{stores[store].title}, {query}") for name, store, query in parts]


def measure(job: Job) -> Result:
    """In a JVM of its own: nothing that another query made the compilers do is of use. A first run makes it warm."""
    sizes = Sizes(**job.sizes)
    query_name = job.provider.name.rpartition("-")[2]
    batches = prepare(NexmarkEvents(sizes.rows, sizes.warm_up + sizes.batches), job.data)
    parts = batches[: sizes.warm_up], batches[sizes.warm_up :]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    profile = JvmProfile(spark)
    first, second = (nexmark.stream_of(spark, query_name, job.scratch / run) for run in ("first", "second"))
    first.measure(*parts)
    first.stop()
    _, usage = second.measure(*parts, warm=profile.begin)
    found = profile.end(job.scratch / "recording.jfr")
    second.stop()
    spark.stop()
    events = sizes.rows * sizes.batches / 1e6
    shares = {part: seconds / events for part, seconds in found.items()}
    return {"figures": {"cpu_us": sum(shares.values()), **shares, "others": usage.others}, "batches": []}
