"""Asynchronous calls: a micro-batch of a thousand that take 50 ms each, and a sleep as long as they need at best."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame

import snapline
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.stream import Stream, Workload, summary

IDEAL, KEYED = "ideal", "keyed"
NAMES = (IDEAL, OURS, KEYED)
TITLES = {
    IDEAL: "one sleep of calls / capacity times their length",
    OURS: "snapline.async_process",
    KEYED: "async def process_element of a keyed function",
}


@dataclass(frozen=True)
class Sizes:
    """One partition makes all calls; every row has a key of its own."""

    rows: int = 1_000
    wait_ms: int = 50
    capacity: int = 100
    warm_up: int = 5
    batches: int = 15
    memory: str = "2g"


QUICK = Sizes(rows=100, warm_up=1, batches=2)
REPS = 3
FIGURES = {
    "wall_ms": "batch ms",
    "cpu_ms": "CPU ms / batch",
    "others": "other load, cores",
}
GOALS = [Goal("wall_ms", Part.WHOLE, IDEAL, 1.2), Goal("wall_ms", Part.WHOLE, IDEAL, 1.2, ours=KEYED)]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def transform(name: str, sizes: Sizes, rows: DataFrame) -> DataFrame:
    seconds = sizes.wait_ms / 1000

    class Calls(snapline.AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            await asyncio.sleep(seconds)
            return [(value.key,)]

    class Keyed(snapline.KeyedProcessFunction):
        async_capacity = sizes.capacity

        def open(self, ctx: Any) -> None:
            self.seen = ctx.get_state(snapline.ValueStateDescriptor("seen", "bigint"))

        async def process_element(self, row: Any, ctx: Any) -> Any:
            await asyncio.sleep(seconds)
            self.seen.update(row.value)
            yield (row.key,)

    class Sleep(snapline.ProcessFunction):
        def process_batch(self, batch: Any, ctx: Any) -> Iterator[Any]:
            time.sleep(ceil(batch.num_rows / sizes.capacity) * seconds)
            yield batch.select(["key"])

    if name == KEYED:
        return snapline.key_by(rows, "key").process(Keyed(), "key bigint")
    if name == OURS:
        timeout = timedelta(seconds=10)
        return snapline.async_process(rows.coalesce(1), Calls(), "key bigint", timeout=timeout, capacity=sizes.capacity)
    return snapline.process(rows.coalesce(1), Sleep(), "key bigint")


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(KeyedEvents(sizes.rows, 1 << 40, 0, sizes.warm_up + sizes.batches), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    spark.conf.set("spark.sql.shuffle.partitions", 1)
    workload = Workload(
        "key bigint, entry bigint, value bigint", lambda rows: transform(job.provider.name, sizes, rows)
    )
    stream = Stream(spark, workload, job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :])
    measured = [summary(each) for each in progress]
    stream.stop()
    spark.stop()
    assert len(measured) == sizes.batches, measured
    return {
        "figures": {
            "wall_ms": median(batch["wall_ms"] for batch in measured),
            "cpu_ms": usage.cpu_s / sizes.batches * 1e3,
            "others": usage.others,
        },
        "batches": measured,
    }
