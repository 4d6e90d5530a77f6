"""A StatefulProcessor of transformWithState in Python, in Spark's own operator and in Snapline's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import snapline
from snapline_bench.beside_spark import sessions
from snapline_bench.events import KeyedEvents, prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.stream import Stream, Workload, summary

SPARK = "spark"
NAMES = (SPARK, OURS)
OUT = "key bigint, rows bigint, total bigint"


@dataclass(frozen=True)
class Sizes:
    """Rows of keys drawn at random, of which each has state."""

    keys: int = 10_000
    rows: int = 20_000
    warm_up: int = 4
    batches: int = 8
    memory: str = "4g"


QUICK = Sizes(keys=500, rows=1_000, warm_up=1, batches=2)
REPS = 3
FIGURES = {
    "cpu_us_row": "CPU us / row",
    "wall_us_row": "wall us / row",
    "others": "other load, cores",
}
GOALS = [Goal("cpu_us_row", Part.WHOLE, SPARK, 0.2), Goal("wall_us_row", Part.WHOLE, SPARK, None)]


class Totals(StatefulProcessor):
    """A value and a map for each key, and one timer that moves."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", "rows bigint, total bigint, timer bigint")
        self.entries = handle.getMapState("entries", "entry bigint", "value bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count, total, timer = self.total.get() if self.total.exists() else (0, 0, None)
        for row in rows:
            count, total = count + 1, total + row.value
            self.entries.updateValue((row.entry,), (row.value,))
        if timer is not None:
            self.handle.deleteTimer(timer)
        timer = timerValues.getCurrentProcessingTimeInMs() + 3_600_000
        self.handle.registerTimer(timer)
        self.total.update((count, total, timer))
        yield Row(key=key[0], rows=count, total=total)


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, {SPARK: "transformWithState"}, {OURS: "snapline.transform_with_state"}, jar, settings)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    events = KeyedEvents(sizes.rows, sizes.keys, 3, sizes.warm_up + sizes.batches)
    batches = prepare(events, job.data)
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    # In processing time Spark's operator runs micro-batches without rows all the time.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    told: dict[str, Any] = {"outputStructType": OUT, "outputMode": "Update", "timeMode": "ProcessingTime"}

    def transform(rows: DataFrame) -> DataFrame:
        grouped = rows.groupBy("key")
        if job.provider.name == SPARK:
            return grouped.transformWithState(Totals(), **told)
        return snapline.transform_with_state(grouped, Totals(), **told)

    workload = Workload("key bigint, entry bigint, value bigint", transform)
    stream = Stream(spark, workload, job.scratch, job.scratch / "checkpoint")
    progress, usage = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :])
    measured = [summary(each) for each in progress]
    stream.stop()
    spark.stop()
    rows = sum(batch["rows"] for batch in measured)
    assert rows == sizes.rows * sizes.batches, f"{rows} rows in {len(measured)} batches"
    return {
        "figures": {
            "cpu_us_row": usage.cpu_s / rows * 1e6,
            "wall_us_row": median(batch["wall_ms"] for batch in measured) / sizes.rows * 1e3,
            "others": usage.others,
        },
        "batches": measured,
    }
