"""Kafka to Kafka exactly once: the time until a consumer of committed rows sees a row, beside Flink SQL's sink."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import snapline
from snapline_bench import cpu, pyflink
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.outside import Target, kafka
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.traffic import Feed, traffic

SPARK, FLINK = "spark-kafka", "flink-sql"
NAMES = (OURS, SPARK, FLINK)
TITLES = {
    OURS: "Keyed Python function, exactly_once(...).kafka, a checkpoint every 10 s",
    SPARK: "the same function, Spark's Kafka sink, which is at-least-once",
}
PARTITIONS = 2


@dataclass(frozen=True)
class Sizes:
    """Rows a second, and seconds: of an interval between checkpoints, of warming up, and of measuring."""

    rate: int = 200
    interval: int = 10
    warm_up: int = 20
    seconds: int = 40
    memory: str = "2g"


QUICK = Sizes(warm_up=2, seconds=12)
REPS = 3
FIGURES = {
    "p50_ms": "until a row is seen: p50 ms",
    "p99_ms": "p99 ms",
    "max_ms": "max ms",
    "others": "other load, cores",
}
GOALS = [
    Goal("p50_ms", Part.WHOLE, FLINK, 0.2),
    Goal("p99_ms", Part.WHOLE, FLINK, 0.2),
    Goal("p50_ms", Part.WHOLE, SPARK, None),
    Goal("p99_ms", Part.WHOLE, SPARK, None),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    found = sessions([name for name in names if name != FLINK], TITLES, jar, settings)
    flink = {FLINK: "Flink SQL, no function, its exactly-once Kafka sink, a checkpoint every 10 s"}
    return [*found, *(pyflink.with_kafka(flink) if FLINK in names else [])]


class Numbered(snapline.KeyedProcessFunction):
    """Puts out each row."""

    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_state(snapline.ValueStateDescriptor("seen", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, str]]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield row.key, row.value


@contextmanager
def spark_query(job: Job, target: Target, sizes: Sizes) -> Iterator[None]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    provider = replace(job.provider, jars=(*job.provider.jars, *target.jars))
    spark = open_session(provider, job.null_jar, job.scratch, "60s", sizes.memory)
    options = {"kafka.bootstrap.servers": target.address, "subscribe": "in", "startingOffsets": "earliest"}
    rows = spark.readStream.format("kafka").options(**options).load()
    rows = rows.selectExpr("string(key) AS key", "string(value) AS value")
    found = snapline.key_by(rows, "key").process(Numbered(), "key string, value string")
    writer = found.writeStream.option("checkpointLocation", str(job.scratch / "checkpoint"))
    if job.provider.name == SPARK:
        writer = writer.format("kafka").option("kafka.bootstrap.servers", target.address).option("topic", "out")
    else:
        writer = snapline.exactly_once(writer).kafka(target.address, "out")
    interval = timedelta(seconds=sizes.interval)
    query = snapline.start(writer, snapline.CheckpointConfig(interval=interval))
    try:
        yield
    finally:
        query.stop()
        spark.stop()


@contextmanager
def flink_query(job: Job, target: Target, sizes: Sizes) -> Iterator[None]:
    orders = {"servers": target.address, "source": "in", "target": "out", "interval_s": sizes.interval}
    with pyflink.running(job.provider, "kafka_copy.py", orders, job.scratch):
        yield


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    query = flink_query if job.provider.name == FLINK else spark_query
    with kafka(job.scratch) as target:
        for topic in ("in", "out"):
            target.make(topic, PARTITIONS)
        with traffic(Feed(target.address, committed=True)) as rows, query(job, target, sizes):
            rows.at(sizes.rate, sizes.warm_up)
            before = cpu.read()
            times = rows.at(sizes.rate, sizes.seconds)
            others = cpu.read().since(before).others
    if times.again:
        raise SystemExit(f"{times.again} rows were seen twice")
    figures = {"p50_ms": times.p50, "p99_ms": times.p99, "max_ms": times.max, "others": others}
    return {"figures": figures, "batches": []}
