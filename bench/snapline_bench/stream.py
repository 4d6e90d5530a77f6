"""One streaming query of a bench: its input folder, its checkpoint, and the progress of its batches."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from snapline_bench import cpu
from snapline_bench.events import FILES_A_BATCH
from snapline_bench.job import Result

Progress = dict[str, Any]


@dataclass(frozen=True)
class Workload:
    """A query shape: the columns it reads, and what it does with them."""

    schema: str
    transform: Callable[[DataFrame], DataFrame]


# Of `SumEvents`.
SUMS = Workload("key bigint, value bigint", lambda events: events.groupBy("key").agg(F.sum("value").alias("sum")))


@dataclass(frozen=True)
class Steady:
    """Micro-batches of one size."""

    keys: int = 10_000
    rows: int = 200_000
    warm_up: int = 8
    batches: int = 15
    memory: str = "4g"


STEADY_QUICK = Steady(keys=1_000, rows=4_000, warm_up=1, batches=2)
STEADY_FIGURES = {
    "cpu_us_row": "CPU us / row",
    "wall_us_row": "wall us / row",
    "others": "other load, cores",
}


class Stream:
    """Runs a workload over the batches landed in its folder; owns that folder, not the checkpoint."""

    def __init__(
        self,
        spark: SparkSession,
        workload: Workload,
        folder: Path,
        checkpoint: Path | str,
        goes_on: bool = False,
        output_mode: str = "update",
    ) -> None:
        """`goes_on`: after what a process before this one has landed there, if any."""
        self.landing = folder / "landing"
        self._staging = folder / "staging"
        self._reported = 0
        for made in (self.landing, self._staging):
            if not goes_on:
                shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True, exist_ok=goes_on)
        self._landed = len(list(self.landing.iterdir()))
        source = (
            spark.readStream.schema(workload.schema)
            .option("maxFilesPerTrigger", FILES_A_BATCH)
            .option("recursiveFileLookup", "true")
            .parquet(str(self.landing))
        )
        self._writer = (
            workload.transform(source)
            .writeStream.format("noop")
            .outputMode(output_mode)
            .option("checkpointLocation", str(checkpoint))
        )
        self._query: StreamingQuery | None = None

    def start(self, how: Callable[[DataStreamWriter], StreamingQuery] | None = None) -> None:
        """`how`: another way than Spark's own."""
        self._query = self._writer.start() if how is None else how(self._writer)

    @property
    def query(self) -> StreamingQuery | None:
        return self._query

    def land(self, batches: Iterable[Path]) -> None:
        """Makes the files of these batches visible at once: linked aside, then moved in with one rename."""
        group = self._staging / f"{self._landed:05d}"
        for batch in batches:
            shutil.copytree(batch, group / batch.name, copy_function=os.link)
        group.rename(self.landing / group.name)
        self._landed += 1

    def drain(self) -> list[Progress]:
        """Waits until everything landed has been processed; the progress of the batches since the last call."""
        assert self._query is not None
        self._query.processAllAvailable()
        all_batches = [json.loads(p.json) for p in self._query.recentProgress]
        batches = [p for p in all_batches if p["numInputRows"] > 0 and p["batchId"] >= self._reported]
        if batches:
            self._reported = batches[-1]["batchId"] + 1
        return batches

    def measure(
        self,
        warm_up: Iterable[Path],
        batches: Iterable[Path],
        how: Callable[[DataStreamWriter], StreamingQuery] | None = None,
        warm: Callable[[], None] = lambda: None,
    ) -> tuple[list[Progress], cpu.Usage]:
        """Starts it; the progress of these batches and what they used, once those to warm up with are through.

        `warm` is called in between.
        """
        self.land(warm_up)
        self.start(how)
        self.drain()
        warm()
        before = cpu.read()
        self.land(batches)
        return self.drain(), cpu.read().since(before)

    def stop(self) -> None:
        if self._query is not None:
            self._query.stop()


def steady(
    stream: Stream, sizes: Steady, batches: list[Path], how: Callable[..., StreamingQuery] | None = None
) -> Result:
    """What a row costs, once the batches to warm up with are through. Stops the query."""
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :], how)
    measured = [summary(each) for each in progress]
    stream.stop()
    assert len(measured) == sizes.batches, measured
    return {
        "figures": {
            "cpu_us_row": usage.cpu_s / (sizes.rows * sizes.batches) * 1e6,
            "wall_us_row": median(batch["wall_ms"] for batch in measured) / sizes.rows * 1e3,
            "others": usage.others,
        },
        "batches": measured,
    }


def summary(progress: Progress) -> dict[str, Any]:
    """The figures of one batch that the benches use; times in milliseconds, store times summed over the tasks."""
    store = progress["stateOperators"][0]
    duration = progress["durationMs"]
    return {
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "wall_ms": duration["triggerExecution"],
        "add_batch_ms": duration["addBatch"],
        "commit_ms": store["commitTimeMs"],
        "update_ms": store["allUpdatesTimeMs"],
        "updated_rows": store["numRowsUpdated"],
        "state_rows": store["numRowsTotal"],
        "state_memory": store["memoryUsedBytes"],
        "load_metrics": {k: v for k, v in store.get("customMetrics", {}).items() if is_load_metric(k)},
    }


def is_load_metric(name: str) -> bool:
    return any(word in name.lower() for word in ("load", "replay", "restore"))
