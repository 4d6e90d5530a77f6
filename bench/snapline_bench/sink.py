"""Exactly-once sinks: a micro-batch into Kafka and PostgreSQL, beside Spark's own sinks, which are at-least-once."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline_bench import cpu
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.outside import Target, kafka, postgres
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions

SPARK_KAFKA, SPARK_JDBC, JDBC = "spark-kafka", "spark-jdbc", "jdbc"
NAMES = (SPARK_KAFKA, OURS, SPARK_JDBC, JDBC)
TITLES = {
    SPARK_KAFKA: "Spark's Kafka sink",
    OURS: "exactly_once(...).kafka",
    SPARK_JDBC: "Spark's JDBC writer in foreachBatch, PostgreSQL",
    JDBC: "exactly_once(...).jdbc, PostgreSQL",
}
# Rows of a batch, and partitions.
CASES = ((100, 1), (100, 8), (100, 64), (10_000, 1), (10_000, 8), (10_000, 64), (200_000, 8))
FEW = 100
WARM = (10_000, 8)


@dataclass(frozen=True)
class Sizes:
    """`letters`: of a row's value. `first`: batches of a case that is not measured, after which code is compiled."""

    cases: tuple[tuple[int, int], ...] = CASES
    letters: int = 100
    first: int = 60
    warm_up: int = 5
    batches: int = 15
    memory: str = "3g"


QUICK = Sizes(first=2, warm_up=2, batches=3)
REPS = 3


def figure(rows: int, partitions: int) -> str:
    return f"ms_{rows}_{partitions}"


FIGURES = {
    **{figure(*case): f"{case[0]:,} rows, {case[1]} partitions: batch ms" for case in CASES},
    "cpu_us_row": "CPU us a row, 200,000 rows, the server's too",
    "others": "other load, cores",
}


def _goal(case: tuple[int, int], ours: str, theirs: str) -> Goal:
    name = figure(*case)
    if case[0] == FEW:
        return Goal(name, Part.ADDED, theirs, 30.0, ours=ours)
    return Goal(name, Part.WHOLE, theirs, 1.2, ours=ours)


GOALS = [
    *(_goal(case, ours, theirs) for ours, theirs in ((OURS, SPARK_KAFKA), (JDBC, SPARK_JDBC)) for case in CASES),
    Goal("cpu_us_row", Part.WHOLE, SPARK_KAFKA, None),
    Goal("cpu_us_row", Part.WHOLE, SPARK_JDBC, None, ours=JDBC),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    return sessions(names, TITLES, jar, settings)


@dataclass
class Run:
    spark: SparkSession
    name: str
    target: Target
    scratch: Path
    sizes: Sizes
    count: int = field(default=0)

    def case(self, rows: int, partitions: int, warm_up: int) -> tuple[float, cpu.Usage]:
        """The median time of a batch in ms, and the CPU of all of them."""
        self.count += 1
        place = self.target.make(f"bench_{self.count}")
        query = self._start(self._rows(rows, partitions), place)
        try:
            last = warm_up + self.sizes.batches
            self._wait(query, warm_up)
            before = cpu.read()
            self._wait(query, last)
            usage = cpu.read().since(before)
        finally:
            query.stop()
        times = [p["durationMs"]["addBatch"] for p in query.recentProgress if warm_up < p["batchId"] <= last]
        return median(times), usage

    def _rows(self, rows: int, partitions: int) -> DataFrame:
        options = {"rowsPerBatch": str(rows), "numPartitions": str(partitions)}
        stream = self.spark.readStream.format("rate-micro-batch").options(**options).load()
        text = F.lpad(F.col("value").cast("string"), self.sizes.letters, "x")
        return stream.select(F.col("value").cast("string").alias("key"), text.alias("value"))

    def _start(self, rows: DataFrame, place: str) -> Any:
        writer = rows.writeStream.option("checkpointLocation", str(self.scratch / f"checkpoint-{self.count}"))
        address = self.target.address
        if self.name == SPARK_KAFKA:
            return writer.format("kafka").option("kafka.bootstrap.servers", address).option("topic", place).start()
        if self.name == OURS:
            return snapline.exactly_once(writer).kafka(address, place).start()
        if self.name == JDBC:
            return snapline.exactly_once(writer).jdbc(address, place, user=self.target.user).start()
        # It has to be told what ours is told by itself, or the figures would be of that.
        url = f"{address}?reWriteBatchedInserts=true"
        options = {"user": self.target.user, "driver": "org.postgresql.Driver"}
        return writer.foreachBatch(lambda df, _: df.write.jdbc(url, place, "append", options)).start()

    @staticmethod
    def _wait(query: Any, batch: int) -> None:
        while (query.lastProgress or {"batchId": -1})["batchId"] < batch:
            if query.exception() is not None:
                raise query.exception()
            time.sleep(0.02)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    opened = kafka if job.provider.name in (SPARK_KAFKA, OURS) else postgres
    with opened(job.scratch) as target:
        provider = replace(job.provider, jars=(*job.provider.jars, *target.jars))
        spark = open_session(provider, job.null_jar, job.scratch, "60s", sizes.memory)
        run = Run(spark, job.provider.name, target, job.scratch, sizes)
        run.case(*WARM, sizes.first)
        figures, others = {}, []
        for rows, partitions in sizes.cases:
            figures[figure(rows, partitions)], usage = run.case(rows, partitions, sizes.warm_up)
            others.append(usage.others)
            figures["cpu_us_row"] = usage.cpu_s / (rows * sizes.batches) * 1e6
        spark.stop()
    return {"figures": {**figures, "others": max(others)}, "batches": []}
