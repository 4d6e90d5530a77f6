"""Keyed state in Python: what a row costs, per engine, with few keys, many keys, and a map per key."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame

from snapline_bench import cpu, engines, local_files, provider, pyflink
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, Workload, summary

NATIVE = "native"
ROW = "row"
PANDAS = "pandas"
ARROW = "arrow"
NAMES = (NATIVE, ROW, PANDAS, OURS, ARROW, *pyflink.NAMES)
# Engines that take minutes for what others do in a second.
SLOW = (ROW, PANDAS, pyflink.PROCESS)


@dataclass(frozen=True)
class Sizes:
    """`slow_rows`, `slow_batches`: for the slow engines, which have as many batches before."""

    keys: int
    entries: int = 0
    rows: int = 200_000
    warm_up: int = 10
    batches: int = 20
    slow_rows: int = 200_000
    slow_batches: int = 1
    memory: str = "4g"

    def batches_of(self, engine: str) -> tuple[int, int]:
        """To warm up with, and measured. A batch of PyFlink takes up to a minute, and its cost is Python's."""
        if engine == pyflink.PROCESS:
            return 1, 1
        if engine == pyflink.THREAD:
            return min(self.warm_up, 10), min(self.batches, 20)
        if engine in SLOW:
            return self.slow_batches, self.slow_batches
        return self.warm_up, self.batches


# With few keys a batch is so short that after ten of them half of the CPU is still the JIT compiler's.
FEW = Sizes(10_000, warm_up=60, batches=30, slow_batches=4)
MANY = Sizes(500_000, slow_rows=20_000)
MAP = Sizes(20_000, entries=10, slow_rows=20_000)
REPS = 3

SCHEMA = "key bigint, entry bigint, value bigint"
FIGURES = {
    "cpu_us_row": "CPU us / row",
    "wall_us_row": "wall us / row",
    "wall_ms": "batch ms",
    "others": "other load, cores",
}


def goals(element: float, arrow: float, row: float, pandas: float, native: float, flink: float) -> list[Goal]:
    """The most CPU a row may cost, and the ratios to what stands beside it in the run."""
    return [
        Goal("cpu_us_row", Part.ABSOLUTE, "", element),
        Goal("cpu_us_row", Part.ABSOLUTE, "", arrow, ARROW),
        Goal("cpu_us_row", Part.WHOLE, ROW, 1 / row),
        Goal("cpu_us_row", Part.WHOLE, PANDAS, 1 / pandas),
        Goal("cpu_us_row", Part.WHOLE, NATIVE, native),
        Goal("cpu_us_row", Part.WHOLE, pyflink.THREAD, 1 / flink),
        Goal("cpu_us_row", Part.WHOLE, pyflink.PROCESS, None),
        Goal("wall_us_row", Part.WHOLE, NATIVE, None),
        Goal("wall_us_row", Part.WHOLE, pyflink.THREAD, None),
    ]


FEW_GOALS = goals(4, 2, 8, 25, 1.3, 10)
MANY_GOALS = goals(10, 7, 20, 100, 1.0, 5)
MAP_GOALS = goals(12, 6, 15, 80, 1.0, 4)


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """As :func:`find_engines`; Snapline's with the file system for Spark's logs that `snapline.configure` sets."""
    return find_engines(names, jar, {local_files.SETTING: local_files.CLASSES[local_files.OURS], **settings})


def find_engines(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """The engines named: Spark's on its RocksDB provider, Snapline's on its own, PyFlink's where it is to be had."""
    spark = {name: Provider(name, name, provider.ROCKSDB.class_name) for name in (NATIVE, ROW, PANDAS)}
    found = provider.find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar of Snapline: build it or give --jar PATH")
    ours = {**settings, "spark.sql.extensions": "io.snapline.spark.SnaplineExtension"}
    store = provider.snapline_provider(found, ours)
    known = spark | {name: Provider(name, name, store.class_name, store.settings, store.jars) for name in (OURS, ARROW)}
    if set(names) & set(pyflink.NAMES):
        known |= {each.name: each for each in pyflink.providers()}
    return [known[name] for name in names if name in known]


Parts = tuple[list[Path], list[Path]]
"""Batches to warm up with, and those to measure."""
Measured = tuple[cpu.Usage, float, list[dict[str, Any]]]
"""What was used, how many milliseconds a batch took, and the batches."""


def transform(engine: str, entries: int) -> Workload:
    def run(rows: DataFrame) -> DataFrame:
        by_entry = entries > 0
        return engines.ENGINES[engine](rows if by_entry else rows.drop("entry"), by_entry)

    return Workload(SCHEMA, run)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    engine = job.provider.name
    slow = engine in SLOW
    rows = sizes.slow_rows if slow and (engine != ROW or sizes.slow_rows == sizes.rows) else sizes.rows
    warm_up, count = sizes.batches_of(engine)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(KeyedEvents(rows, sizes.keys, sizes.entries, sizes.warm_up + sizes.batches), job.data)
    parts = batches[:warm_up], batches[warm_up : warm_up + count]
    run = _measure_flink if engine in pyflink.NAMES else _measure_spark
    usage, wall, measured = run(job, sizes, rows, parts)
    events = rows * count
    return {
        "figures": {
            "cpu_us_row": usage.cpu_s / events * 1e6,
            "wall_us_row": wall / rows * 1e3,
            "wall_ms": wall,
            "rows": rows,
            "others": usage.others,
        },
        "batches": measured,
    }


def _measure_spark(job: Job, sizes: Sizes, rows: int, parts: Parts) -> Measured:
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = Stream(spark, transform(job.provider.name, sizes.entries), job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(*parts)
    measured = [summary(each) for each in progress]
    stream.stop()
    spark.stop()
    events = sum(batch["rows"] for batch in measured)
    assert events == rows * len(parts[1]), f"{events} rows in {len(measured)} batches"
    return usage, median(batch["wall_ms"] for batch in measured), measured


def _measure_flink(job: Job, sizes: Sizes, rows: int, parts: Parts) -> Measured:
    """The time of as many rows as a batch has: Flink knows no batches."""
    usage = pyflink.run_job(job.provider, sizes.entries, pyflink.parts_of(parts, rows), job.scratch)
    return usage, usage.elapsed_s * 1e3 / len(parts[1]), []
