"""Broadcast state: what 10,000 rules a micro-batch cost eight partitions, and what they cost one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from snapline_bench import provider
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import Stream, Workload, summary

ONE = "one"
# What is subtracted: a micro-batch, and the broadcast of nothing.
EMPTY = provider.NULL.name
NAMES = (EMPTY, ONE, OURS)
TITLES = {EMPTY: "one partition, no rule", ONE: "one partition", OURS: "broadcast to eight"}


@dataclass(frozen=True)
class Sizes:
    """Every micro-batch sets `rules` of as many keys, drawn with repetition."""

    rules: int = 10_000
    partitions: int = 8
    warm_up: int = 10
    batches: int = 30
    memory: str = "4g"


QUICK = Sizes(warm_up=4, batches=6)
REPS = 2
FIGURES = {
    "cpu_ms": "CPU ms / batch",
    "wall_ms": "batch ms",
    "others": "other load, cores",
}
STATE_PART = ("cpu_ms",)
# Eight handle the rules; to bring them there may cost as much as twice what one partition's handling does.
GOALS = [Goal("cpu_ms", Part.STATE, ONE, 8 + 2), Goal("wall_ms", Part.WHOLE, ONE, None)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    partitions = sizes.partitions if job.provider.name == OURS else 1
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(KeyedEvents(sizes.rules, sizes.rules, 0, sizes.warm_up + sizes.batches), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    workload = Workload("key bigint, entry bigint, value bigint", transform(partitions, job.provider.name != EMPTY))
    stream = Stream(spark, workload, job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :])
    measured = [summary(each) for each in progress]
    stream.stop()
    spark.stop()
    assert len(measured) == sizes.batches, measured
    return {
        "figures": {
            "cpu_ms": usage.cpu_s / sizes.batches * 1e3,
            "wall_ms": median(batch["wall_ms"] for batch in measured),
            "others": usage.others,
        },
        "batches": measured,
    }


def transform(partitions: int, with_rules: bool) -> Callable[[DataFrame], DataFrame]:
    """The rows are the rules; the stream that they are broadcast beside has none."""
    import snapline

    descriptor = snapline.MapStateDescriptor("rules", "long", "long")

    class Keep(snapline.BroadcastProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> None:
            pass

        def process_broadcast_element(self, row: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(descriptor)[row.key] = row.value

    def run(rows: DataFrame) -> DataFrame:
        rules = rows.drop("entry") if with_rules else rows.drop("entry").where("key < 0")
        beside = snapline.connect(rows.where(F.lit(False)), snapline.broadcast(rules, descriptor))
        return beside.process(Keep(), "key long", parallelism=partitions)

    return run
