"""Tumbling windows with a Python function: what a row costs beside Spark's own windows, with few keys and many."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import snapline
from snapline.window import ProcessWindowFunction, TumblingEventTimeWindows
from snapline_bench import pyflink
from snapline_bench.beside_spark import sessions
from snapline_bench.events import WindowEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.keyed import Measured, Parts
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, Workload, summary

NATIVE, COLLECT, ROWS = "native", "collect", "rows"
FLINK = pyflink.THREAD
NAMES = (NATIVE, COLLECT, OURS, ROWS, FLINK)
SCHEMA = "key bigint, value bigint, time timestamp"
OUT = "key bigint, total bigint"
SECONDS = 10


@dataclass(frozen=True)
class Sizes:
    """A window of ten seconds has the rows of two batches.

    Attributes:
        flink: batches to warm up PyFlink with, and measured: it takes minutes. One window closes in the latter.
    """

    keys: int
    rows: int = 200_000
    warm_up: int = 10
    batches: int = 20
    flink: tuple[int, int] = (1, 2)
    memory: str = "4g"


FEW, MANY = Sizes(10_000), Sizes(500_000)
REPS = 3
FIGURES = {
    "cpu_us_row": "CPU us / row",
    "wall_us_row": "wall us / row",
    "wall_ms": "batch ms",
    "others": "other load, cores",
}
GOALS = [
    Goal("cpu_us_row", Part.WHOLE, NATIVE, 1.5),
    Goal("cpu_us_row", Part.WHOLE, COLLECT, 1 / 3),
    Goal("cpu_us_row", Part.WHOLE, FLINK, 1 / 5),
    Goal("cpu_us_row", Part.WHOLE, ROWS, None),
    Goal("wall_us_row", Part.WHOLE, NATIVE, None),
]


class Sum(snapline.AggregateFunction[Any, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value.value)

    def get_result(self, accumulator: int) -> int:
        return accumulator


class SumOfRows(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[tuple[int, int]]:
        yield key, sum(row.value for row in elements)


def windowed(rows: DataFrame) -> Any:
    windows = TumblingEventTimeWindows.of(timedelta(seconds=SECONDS))
    return snapline.key_by(rows, "key").window(windows)


def of_spark(rows: DataFrame) -> Any:
    return rows.groupBy(F.window("time", f"{SECONDS} seconds"), "key")


def sum_lists(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        totals = [sum(values) for values in batch.column("values").to_pylist()]
        yield pa.record_batch([batch.column("key"), pa.array(totals, pa.int64())], names=["key", "total"])


ENGINES: dict[str, Callable[[DataFrame], DataFrame]] = {
    NATIVE: lambda rows: of_spark(rows).agg(F.sum("value").alias("total")).select("key", "total"),
    COLLECT: lambda rows: of_spark(rows).agg(F.collect_list("value").alias("values")).mapInArrow(sum_lists, OUT),
    OURS: lambda rows: windowed(rows).aggregate(Sum(), output_type="total bigint", accumulator_type="bigint"),
    ROWS: lambda rows: windowed(rows).process(SumOfRows(), OUT),
}


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    found = sessions(names, {NATIVE: NATIVE, COLLECT: COLLECT}, {OURS: OURS, ROWS: ROWS}, jar, settings)
    return found + [each for each in pyflink.providers() if each.name in names] if FLINK in names else found


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(WindowEvents(sizes.rows, sizes.keys, sizes.warm_up + sizes.batches, SECONDS / 2), job.data)
    warm_up, count = sizes.flink if job.provider.name == FLINK else (sizes.warm_up, sizes.batches)
    run = _measure_flink if job.provider.name == FLINK else _measure_spark
    usage, wall, measured = run(job, sizes, (batches[:warm_up], batches[warm_up : warm_up + count]))
    return {
        "figures": {
            "cpu_us_row": usage.cpu_s / (sizes.rows * count) * 1e6,
            "wall_us_row": wall / sizes.rows * 1e3,
            "wall_ms": wall,
            "others": usage.others,
        },
        "batches": measured,
    }


def _measure_spark(job: Job, sizes: Sizes, parts: Parts) -> Measured:
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)

    def transform(rows: DataFrame) -> DataFrame:
        return ENGINES[job.provider.name](rows.withWatermark("time", "0 seconds"))

    workload = Workload(SCHEMA, transform)
    stream = Stream(spark, workload, job.scratch, job.scratch / "checkpoint", output_mode="append")
    progress, usage = stream.measure(*parts)
    measured = [summary(each) for each in progress]
    stream.stop()
    spark.stop()
    rows = sum(batch["rows"] for batch in measured)
    assert rows == sizes.rows * sizes.batches, f"{rows} rows in {len(measured)} batches"
    return usage, median(batch["wall_ms"] for batch in measured), measured


def _measure_flink(job: Job, sizes: Sizes, parts: Parts) -> Measured:
    """The time of as many rows as a batch has: Flink knows no batches."""
    usage = pyflink.run_job(job.provider, 0, pyflink.parts_of(parts, sizes.rows), job.scratch, windows_s=SECONDS)
    return usage, usage.elapsed_s * 1e3 / len(parts[1]), []
