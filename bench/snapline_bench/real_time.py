"""Kafka to Kafka in Spark's real-time mode: what each row waits, ends of micro-batches included. Needs Spark 4.3."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline_bench import cpu, local_files, pyflink, venv
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.nulljar import compiled
from snapline_bench.outside import Target, kafka
from snapline_bench.provider import OURS, ROCKSDB, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions
from snapline_bench.traffic import Feed, Traffic, traffic

MICRO = "micro-batches"
JVM, SPARK = "jvm", "spark-jvm"
SUMS, SPARK_SUMS = "aggregation", "spark-aggregation"
FIRSTS, SPARK_FIRSTS = "deduplication", "spark-deduplication"
FLINK = pyflink.THREAD
FLINK_SQL = "flink-sql"
OURS_ALL = {
    OURS: "Keyed Python function",
    MICRO: "the same in micro-batches, one after the other",
    JVM: "transformWithState in Scala, Snapline's store",
    SUMS: "groupBy().agg(), Snapline's store",
    FIRSTS: "dropDuplicates, Snapline's store",
}
SPARKS = {
    SPARK: "transformWithState in Scala, Spark's store",
    SPARK_SUMS: "groupBy().agg(), Spark's store",
    SPARK_FIRSTS: "dropDuplicates, Spark's store",
}
FLINKS = {
    FLINK: "PyFlink, thread mode, a buffer's timeout of 1 ms",
    FLINK_SQL: "Flink SQL, GROUP BY without Python, a buffer's timeout of 1 ms",
}
NAMES = (OURS, SPARK, FLINK)
SHORT_NAMES = (*NAMES, FLINK_SQL, MICRO, JVM, SUMS, SPARK_SUMS, FIRSTS, SPARK_FIRSTS)
# Whose CPU a row is compared at more rates.
COMPARED = (OURS, MICRO)
PARTITIONS = 2


@dataclass(frozen=True)
class Sizes:
    """
    Attributes:
        batch: seconds of a micro-batch, and from one of Flink's checkpoints to the next.
        warm_up: seconds at `warm_up_rate`: the code of a micro-batch's end runs for the first time then.
        seconds: that are measured at each rate: whole micro-batches, so that each end of one counts as it should.
        rates: rows a second.
    """

    batch: int = 60
    warm_up: int = 75
    warm_up_rate: int = 1_000
    seconds: int = 60
    rates: tuple[int, ...] = (200, 1_000)
    memory: str = "2g"


SHORT = Sizes(batch=10, warm_up=75, seconds=10, rates=(200, 1_000, 20_000))
QUICK = Sizes(batch=10, warm_up=10, seconds=10)
SHORT_QUICK = replace(SHORT, warm_up=15, rates=Sizes.rates)
REPS = 3
LINE = "4.3"


def figures_of(sizes: Sizes) -> dict[str, str]:
    return {
        **{f"p{p}_{rate}": f"{rate:,} rows/s: p{p} ms" for rate in sizes.rates for p in (50, 99)},
        **{f"cpu_{rate}": f"{rate:,} rows/s: CPU us / row" for rate in sizes.rates},
        "others": "other load, cores",
    }


def goals(p99: float) -> list[Goal]:
    """`p99`: that of our function, in ms."""
    slow = Sizes.rates
    return [
        *(Goal(f"p50_{rate}", Part.ABSOLUTE, "", 15.0) for rate in slow),
        *(Goal(f"p99_{rate}", Part.ABSOLUTE, "", p99) for rate in slow),
        *(Goal(f"p50_{rate}", Part.WHOLE, SPARK, 1.5) for rate in slow),
        *(Goal(f"p99_{rate}", Part.WHOLE, SPARK, 1.0) for rate in slow),
        *(Goal(f"p{p}_{rate}", Part.WHOLE, FLINK, None) for p in (50, 99) for rate in slow),
    ]


def short_goals() -> list[Goal]:
    slow = Sizes.rates
    return [
        *goals(400.0),
        *(Goal(f"p{p}_{rate}", Part.WHOLE, SPARK, 1.0, JVM) for p in (50, 99) for rate in slow),
        *(Goal(f"p{p}_{rate}", Part.WHOLE, SPARK_SUMS, 1.0, SUMS) for p in (50, 99) for rate in slow),
        *(Goal(f"p{p}_{rate}", Part.WHOLE, SPARK_FIRSTS, 1.0, FIRSTS) for p in (50, 99) for rate in slow),
        *(Goal(f"cpu_{rate}", Part.WHOLE, MICRO, 2.0) for rate in (1_000, 20_000)),
    ]


FIGURES = figures_of(Sizes())
GOALS = goals(100.0)


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    ours = {local_files.SETTING: local_files.CLASSES[local_files.OURS], **settings}
    found = sessions([name for name in names if name in OURS_ALL], OURS_ALL, jar, ours)
    found += [replace(ROCKSDB, name=name, title=SPARKS[name]) for name in names if name in SPARKS]
    found += pyflink.with_kafka({name: title for name, title in FLINKS.items() if name in names})
    return sorted(found, key=lambda each: names.index(each.name))


class Count(snapline.KeyedProcessFunction):
    """`key,number` becomes `key,number,count`: how many rows the key has had."""

    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(snapline.ValueStateDescriptor("count", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str]]:
        n = (self.count.value() or 0) + 1
        self.count.update(n)
        yield (f"{row.value},{n}",)


def results(name: str, rows: DataFrame) -> DataFrame:
    """
    Args:
        rows: of columns `k` and `value`.
    """
    if name in (OURS, MICRO):
        return snapline.key_by(rows, "k").process(Count(), "value string")
    if name in (JVM, SPARK):
        spark: Any = rows.sparkSession
        return DataFrame(spark._jvm.io.snapline.bench.Counts.of(rows._jdf), spark)
    if name in (SUMS, SPARK_SUMS):
        number = F.expr("bigint(split(value, ',')[1])")
        sums = rows.groupBy("k").agg(F.max(number).alias("n"), F.count("*").alias("c"))
        return sums.selectExpr("concat_ws(',', k, n, c) AS value")
    return rows.dropDuplicates(["value"]).select("value")


def open_live_session(job: Job, target: Target, sizes: Sizes) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jars = (*job.provider.jars, *target.jars)
    if job.provider.name in (JVM, SPARK):
        jars = (*jars, str(compiled("real-time", venv.BENCH / "real-time", venv.BUILD, ())))
    settings = {
        **job.provider.settings,
        "spark.master": "local[8]",
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    given = replace(job.provider, settings=settings, jars=jars)
    return open_session(given, job.null_jar, job.scratch, "60s", sizes.memory)


@contextmanager
def spark_query(job: Job, target: Target, sizes: Sizes) -> Iterator[SparkSession]:
    spark = open_live_session(job, target, sizes)
    options = {"kafka.bootstrap.servers": target.address, "subscribe": "in", "startingOffsets": "earliest"}
    read = spark.readStream.format("kafka").options(**options).load()
    found = results(job.provider.name, read.selectExpr("string(key) AS k", "string(value) AS value"))
    writer: Any = found.writeStream.outputMode("update").format("kafka").option("topic", "out")
    writer = writer.option("kafka.bootstrap.servers", target.address)
    writer = writer.option("checkpointLocation", str(job.scratch / "checkpoint"))
    if job.provider.name == MICRO:
        query = snapline.start(writer)
    elif job.provider.name in SPARKS:
        query = writer.trigger(realTime=f"{sizes.batch} seconds").start()
    else:
        query = snapline.start(writer.trigger(realTime=f"{sizes.batch} seconds"))
    try:
        yield spark
    finally:
        query.stop()
        spark.stop()


@contextmanager
def flink_query(job: Job, target: Target, sizes: Sizes) -> Iterator[None]:
    orders = {"servers": target.address, "source": "in", "target": "out", "interval_s": sizes.batch}
    script = "kafka_count.py" if job.provider.name == FLINK else "kafka_sql.py"
    with pyflink.running(job.provider, script, orders, job.scratch):
        yield


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    query: Any = flink_query if job.provider.name in FLINKS else spark_query
    counts = job.provider.name not in (FIRSTS, SPARK_FIRSTS)
    figures: dict[str, float] = {}
    with kafka(job.scratch) as target:
        for topic in ("in", "out"):
            target.make(topic, PARTITIONS)
        with traffic(Feed(target.address, counts=counts)) as rows, query(job, target, sizes):
            rows.at(sizes.warm_up_rate, sizes.warm_up)
            rates = [rate for rate in sizes.rates if rate in Sizes.rates or job.provider.name in COMPARED]
            loads = [measure_rate(rows, rate, sizes.seconds, figures) for rate in rates]
    return {"figures": {**figures, "others": max(loads)}, "batches": []}


def measure_rate(rows: Traffic, rate: int, seconds: int, figures: dict[str, float]) -> float:
    """
    Returns:
        the load of others meanwhile.
    """
    rows.at(rate, 5)
    before = cpu.read()
    times = rows.at(rate, seconds)
    usage = cpu.read().since(before)
    if times.again:
        raise SystemExit(f"{times.again} rows came more than once")
    figures[f"p50_{rate}"] = times.p50
    figures[f"p99_{rate}"] = times.p99
    # Rows go on until the last one that counts is seen.
    figures[f"cpu_{rate}"] = (usage.cpu_s - times.cpu_s) / (rate * usage.elapsed_s) * 1e6
    return usage.others
