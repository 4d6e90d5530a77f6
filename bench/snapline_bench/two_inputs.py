"""Two keyed inputs with one state, and the same by a union written by hand."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import snapline
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import STEADY_FIGURES, STEADY_QUICK, Steady, Stream, Workload, steady

UNION = "union"
NAMES = (UNION, OURS)
TITLES = {UNION: "a union with a column that says which", OURS: "key_by().connect(key_by()).process()"}
SCHEMA = "key bigint, entry bigint, value bigint"
OUT = "key bigint, total bigint"


#: Half of the rows are of one input, and half of the other.
Sizes = Steady
QUICK = STEADY_QUICK
REPS = 3
FIGURES = STEADY_FIGURES
GOALS = [Goal("cpu_us_row", Part.WHOLE, UNION, 1.1), Goal("wall_us_row", Part.WHOLE, UNION, None)]


class Connected(snapline.KeyedCoProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.get_state(snapline.ValueStateDescriptor("total", "bigint"))

    def process_element1(self, row: Any, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + row.value
        self.total.update(total)
        yield row.key, total

    def process_element2(self, row: Any, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) - row.cost
        self.total.update(total)
        yield row.account, total


class Union(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.get_state(snapline.ValueStateDescriptor("total", "bigint"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + (row.value if row.is_first else -row.cost)
        self.total.update(total)
        yield row.key, total


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def inputs(rows: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Two of other columns."""
    second = rows.where("entry = 1").select(F.col("key").alias("account"), F.col("value").alias("cost"))
    return rows.where("entry = 0").select("key", "value"), second


def connected(rows: DataFrame) -> DataFrame:
    first, second = inputs(rows)
    return snapline.key_by(first, "key").connect(snapline.key_by(second, "account")).process(Connected(), OUT)


def by_hand(rows: DataFrame) -> DataFrame:
    first, second = inputs(rows)
    whole = first.select("key", "value", F.lit(None).cast("bigint").alias("cost"), F.lit(True).alias("is_first")).union(
        second.select("account", F.lit(None).cast("bigint"), "cost", F.lit(False))
    )
    return snapline.key_by(whole, "key").process(Union(), OUT)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(KeyedEvents(sizes.rows, sizes.keys, 2, sizes.warm_up + sizes.batches), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    workload = Workload(SCHEMA, connected if job.provider.name == OURS else by_hand)
    stream = Stream(spark, workload, job.scratch, job.scratch / "checkpoint")
    result = steady(stream, sizes, batches)
    spark.stop()
    return result
