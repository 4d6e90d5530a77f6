"""Initial state: the first micro-batch of a query that begins with a million keys, and one that writes them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline_bench import cpu
from snapline_bench.events import KeyRange, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import Stream, Workload, summary

ROWS = "rows"
NAMES = (ROWS, OURS)
TITLES = {ROWS: "a first batch of a row for each key", OURS: "initial state, and a few rows"}
SCHEMA = "key bigint, entry bigint, value bigint"


@dataclass(frozen=True)
class Sizes:
    """A query of `warm_up` keys runs before it in the same session, so that code is compiled."""

    keys: int = 1_000_000
    warm_up: int = 200_000
    few: int = 100
    memory: str = "4g"


QUICK = Sizes(keys=20_000, warm_up=2_000)
REPS = 3
FIGURES = {
    "cpu_s": "CPU s",
    "wall_ms": "batch ms",
    "others": "other load, cores",
}
GOALS = [Goal("cpu_s", Part.WHOLE, ROWS, 2), Goal("wall_ms", Part.WHOLE, ROWS, 2)]


class Keep(snapline.KeyedProcessFunction):
    """Keeps the value of the last row of a key."""

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(snapline.ValueStateDescriptor("last", "bigint"))

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        self.last.update(row.value)

    def process_element(self, row: Any, ctx: Any) -> None:
        self.last.update(row.value)


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def first_batch(spark: SparkSession, job: Job, keys: int, few: int, name: str) -> tuple[dict[str, Any], cpu.Usage]:
    """The first micro-batch of a new query that has so many keys after it."""
    whole, some = prepare(KeyRange((keys, few)), job.data)
    begins = job.provider.name == OURS
    table = snapline.key_by(spark.read.schema(SCHEMA).parquet(str(whole)), "key") if begins else None

    def transform(rows: DataFrame) -> DataFrame:
        return snapline.key_by(rows, "key").process(Keep(), "key bigint", initial_state=table)

    stream = Stream(spark, Workload(SCHEMA, transform), job.scratch / name, job.scratch / name / "checkpoint")
    stream.land([some if begins else whole])
    before = cpu.read()
    stream.start()
    (progress,) = stream.drain()
    usage = cpu.read().since(before)
    stream.stop()
    found = summary(progress)
    assert found["state_rows"] == keys, found
    return found, usage


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    first_batch(spark, job, sizes.warm_up, sizes.few, "warm-up")
    batch, usage = first_batch(spark, job, sizes.keys, sizes.few, "measured")
    spark.stop()
    return {
        "figures": {"cpu_s": usage.cpu_s, "wall_ms": batch["wall_ms"], "others": usage.others},
        "batches": [batch],
    }
