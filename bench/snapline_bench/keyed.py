"""Keyed state in Python: what a row costs, per engine, with few keys, many keys, and a map per key."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame

from snapline_bench import cpu, engines, provider
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
NAMES = (NATIVE, ROW, PANDAS, OURS, ARROW)


@dataclass(frozen=True)
class Sizes:
    """`slow_rows`, `slow_batches`: for the two engines of Spark, which take minutes for what others do in a second."""

    keys: int
    entries: int = 0
    rows: int = 200_000
    warm_up: int = 10
    batches: int = 20
    slow_rows: int = 200_000
    slow_batches: int = 1
    memory: str = "4g"


FEW = Sizes(10_000)
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


def goals(element: float, arrow: float, row: float, pandas: float, native: float) -> list[Goal]:
    """The most CPU a row may cost, and the ratios to what stands beside it in the run."""
    return [
        Goal("cpu_us_row", Part.ABSOLUTE, "", element),
        Goal("cpu_us_row", Part.ABSOLUTE, "", arrow, ARROW),
        Goal("cpu_us_row", Part.WHOLE, ROW, 1 / row),
        Goal("cpu_us_row", Part.WHOLE, PANDAS, 1 / pandas),
        Goal("cpu_us_row", Part.WHOLE, NATIVE, native),
        Goal("wall_us_row", Part.WHOLE, NATIVE, None),
    ]


FEW_GOALS = goals(4, 2, 8, 25, 1.3)
MANY_GOALS = goals(10, 7, 20, 100, 1.0)
MAP_GOALS = goals(12, 6, 15, 80, 1.0)


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """The engines named: Spark's on its RocksDB provider, Snapline's on its own."""
    spark = {name: Provider(name, name, provider.ROCKSDB.class_name) for name in (NATIVE, ROW, PANDAS)}
    found = provider.find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar of Snapline: build it or give --jar PATH")
    ours = {**settings, "spark.sql.extensions": "io.snapline.spark.SnaplineExtension"}
    store = provider.snapline_provider(found, ours)
    known = spark | {name: Provider(name, name, store.class_name, store.settings, store.jars) for name in (OURS, ARROW)}
    return [known[name] for name in names if name in known]


def transform(engine: str, entries: int) -> Workload:
    def run(rows: DataFrame) -> DataFrame:
        by_entry = entries > 0
        return engines.ENGINES[engine](rows if by_entry else rows.drop("entry"), by_entry)

    return Workload(SCHEMA, run)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    engine = job.provider.name
    slow = engine in (ROW, PANDAS)
    rows = sizes.slow_rows if slow and (engine == PANDAS or sizes.slow_rows == sizes.rows) else sizes.rows
    warm_up, count = (1, sizes.slow_batches) if slow else (sizes.warm_up, sizes.batches)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    batches = prepare(KeyedEvents(rows, sizes.keys, sizes.entries, sizes.warm_up + sizes.batches), job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    stream = Stream(spark, transform(engine, sizes.entries), job.scratch, job.scratch / "checkpoint")
    stream.land(batches[:warm_up])
    stream.start()
    stream.drain()
    before = cpu.read()
    stream.land(batches[warm_up : warm_up + count])
    measured = [summary(progress) for progress in stream.drain()]
    usage = cpu.read().since(before)
    stream.stop()
    spark.stop()
    events = sum(batch["rows"] for batch in measured)
    assert events == rows * count, f"{events} rows in {len(measured)} batches"
    wall = median(batch["wall_ms"] for batch in measured)
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
