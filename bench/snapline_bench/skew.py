"""A hot key: how long micro-batches take, and how long it all takes, with rows that wait and without."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import quantiles
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from snapline_bench import cpu
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions

ALIGNED = "aligned"
NAMES = (ALIGNED, OURS)
TITLES = {ALIGNED: "aligned", OURS: "unaligned"}
SCHEMA = "key long, value long"


@dataclass(frozen=True)
class Sizes:
    """`rows`: of as many keys, in each micro-batch. In every `every`-th the hot key has `hot` rows more.

    The work of a row of the hot key is to wait: `hot` * `work_ms` is 50 times what all other rows of a batch take (some
    80 ms with what Spark itself needs).
    """

    rows: int = 5_000
    hot: int = 400
    work_ms: float = 10
    every: int = 8
    warm_up: int = 5
    batches: int = 48
    budget_ms: int = 1_000
    memory: str = "4g"


QUICK = Sizes(hot=100, budget_ms=300, warm_up=3, batches=9)
REPS = 2
FIGURES = {
    "p50_ms": "batch ms, median",
    "p99_ms": "batch ms, p99",
    "p99_of_budget": "p99 / time budget",
    "total_s": "all rows, s",
    "batches": "batches",
    "channel_kb": "channel state at most, kB",
    "others": "other load, cores",
}
GOALS = [
    Goal("p99_of_budget", Part.ABSOLUTE, "", 1.5),
    Goal("total_s", Part.WHOLE, ALIGNED, 1.1),
    Goal("p99_ms", Part.WHOLE, ALIGNED, None),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    _run(spark, job, sizes, "warm-up", sizes.warm_up)
    before = cpu.read()
    started = time.monotonic()
    progress = _run(spark, job, sizes, "rows", sizes.batches)
    total = time.monotonic() - started
    usage = cpu.read().since(before)
    spark.stop()
    times = [batch["durationMs"]["triggerExecution"] for batch in progress]
    waiting = [batch["stateOperators"][0]["customMetrics"]["channelStateBytes"] for batch in progress]
    p99 = quantiles(times, n=100)[98]
    return {
        "figures": {
            "p50_ms": quantiles(times, n=2)[0],
            "p99_ms": p99,
            "p99_of_budget": p99 / sizes.budget_ms,
            "total_s": total,
            "batches": len(times),
            "channel_kb": max(waiting) / 1e3,
            "others": usage.others,
        },
        "batches": [{"wall_ms": time, "channel_bytes": size} for time, size in zip(times, waiting, strict=True)],
    }


def _run(spark: SparkSession, job: Job, sizes: Sizes, name: str, batches: int) -> list[dict[str, Any]]:
    """All files of a folder, one in a batch; the progress of each batch that had an operator."""
    import snapline

    folder = job.scratch / name
    _write(folder, sizes, batches)
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    counts = snapline.key_by(rows, "key").process(_counter(sizes.work_ms / 1e3), "key long, n long")
    writer = counts.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    config = snapline.CheckpointConfig(
        interval=timedelta(seconds=10),
        unaligned=job.provider.name == OURS,
        aligned_checkpoint_timeout=timedelta(milliseconds=sizes.budget_ms),
        max_batches_behind=10_000,
    )
    writer = writer.option("checkpointLocation", str(job.scratch / f"{name}-checkpoint"))
    query = snapline.start(writer, config)
    query.awaitTermination()
    progress = [batch for batch in query.recentProgress if batch["stateOperators"]]
    assert len(progress) >= batches, f"{len(progress)} batches of {batches}"
    return progress


def _counter(seconds: float) -> Any:
    import snapline

    class Counter(snapline.KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.n = ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

        def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
            if row.key == 0:
                time.sleep(seconds)
            n = (self.n.value() or 0) + 1
            self.n.update(n)
            yield row.key, n

    return Counter()


def _write(folder: Path, sizes: Sizes, batches: int) -> None:
    folder.mkdir(parents=True)
    draw = np.random.default_rng(7)
    for batch in range(batches):
        keys = draw.integers(1, sizes.rows, sizes.rows)
        if batch % sizes.every == 0:
            keys = np.concatenate([keys, np.zeros(sizes.hot, np.int64)])
            draw.shuffle(keys)
        path = folder / f"{batch:04}.parquet"
        pq.write_table(pa.table({"key": keys, "value": keys}), path)
        # The file source goes by the time of change.
        os.utime(path, (1_700_000_000 + batch,) * 2)
