"""A keyed function of a client of Spark Connect, and the same of a classic session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline.jar import PLUGIN_CLASS
from snapline.session import MORE_PLUGINS, RELATIONS, RELATIONS_CLASS
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import STEADY_FIGURES, STEADY_QUICK, Steady, Stream, Workload, steady

CLASSIC = "classic"
CONNECT = "connect"
NAMES = (CLASSIC, CONNECT)
TITLES = {CLASSIC: "a classic session", CONNECT: "a client, its server, and the Python beside it"}


Sizes = Steady
QUICK = STEADY_QUICK
REPS = 3
FIGURES = STEADY_FIGURES
GOALS = [
    Goal("cpu_us_row", Part.WHOLE, CLASSIC, 1.03, CONNECT),
    Goal("wall_us_row", Part.WHOLE, CLASSIC, None, CONNECT),
]


class Sum(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.get_state(snapline.ValueStateDescriptor("total", "bigint"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        total = (self.total.value() or 0) + row.value
        self.total.update(total)
        yield row.key, total


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    found = sessions(names, TITLES, jar, settings)
    of_server = {RELATIONS: RELATIONS_CLASS, MORE_PLUGINS: PLUGIN_CLASS}
    return [replace(each, settings={**each.settings, **of_server}) if each.name == CONNECT else each for each in found]


def sums(rows: DataFrame) -> DataFrame:
    return snapline.key_by(rows, "key").process(Sum(), "key bigint, total bigint")


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    is_connect = job.provider.name == CONNECT
    batches = prepare(KeyedEvents(sizes.rows, sizes.keys, 2, sizes.warm_up + sizes.batches), job.data)
    builder = SparkSession.builder.remote("local[2]") if is_connect else SparkSession.builder.master("local[2]")
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory, builder)
    stream = Stream(spark, Workload("key bigint, entry bigint, value bigint", sums), job.scratch, job.scratch / "c")
    # Under a coordinator both, so that a client's query has its process beside the server.
    result = steady(stream, sizes, batches, snapline.start)
    spark.stop()
    return result
