"""Kafka to Kafka exactly once: the time until a consumer of committed rows sees a row, beside Flink SQL's sink."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

import snapline
from snapline_bench import cpu, pyflink, venv
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.outside import Target, kafka
from snapline_bench.provider import OURS, Provider
from snapline_bench.session import open_session
from snapline_bench.snapline_only import sessions

SPARK, FLINK = "spark-kafka", "flink-sql"
NAMES = (OURS, SPARK, FLINK)
TITLES = {
    OURS: "Keyed Python function, exactly_once(...).kafka, a checkpoint every 10 s",
    SPARK: "the same function, Spark's Kafka sink, which is at-least-once",
}
CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
PARTITIONS = 2
PATIENCE_S = 180


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
    if FLINK not in names:
        return found
    try:
        python, *_ = pyflink.installed()
        connector = pyflink.from_maven(CONNECTOR)
    except venv.NotInstalled as reason:
        print(f"{FLINK}: {reason}; running without it")
        return found
    title = "Flink SQL, no function, its exactly-once Kafka sink, a checkpoint every 10 s"
    return [*found, Provider(FLINK, title, "", {"python": python}, (connector,))]


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
    folder = job.scratch / "flink"
    folder.mkdir()
    orders = {
        "servers": target.address,
        "source": "in",
        "target": "out",
        "jar": job.provider.jars[0],
        "interval_s": sizes.interval,
        "folder": str(folder),
    }
    (folder / "orders.json").write_text(json.dumps(orders))
    command = [job.provider.settings["python"], str(venv.BENCH / "pyflink" / "kafka_copy.py")]
    environment = {**os.environ, "FLINK_LOG_DIR": str(folder)}
    with (folder / "out.log").open("w") as log:
        process = subprocess.Popen(
            [*command, str(folder / "orders.json")], env=environment, cwd=folder, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait()


@dataclass
class Traffic:
    """Rows that are sent at a steady rate, and those that are seen; by number, with the time."""

    address: str
    rate: int
    sent: dict[int, float] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)
    twice: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def send(self) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.address, acks=1)
        began, number = time.monotonic(), 0
        while not self.over.is_set():
            time.sleep(max(0.0, began + number / self.rate - time.monotonic()))
            self.sent[number] = time.time()
            producer.send("in", key=str(number % 100).encode(), value=str(number).encode())
            number += 1
        producer.close()

    def look(self) -> None:
        from kafka import KafkaConsumer

        consumer = KafkaConsumer(
            "out",
            bootstrap_servers=self.address,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=10,
        )
        while not self.over.is_set():
            for records in consumer.poll(50).values():
                now = time.time()
                for record in records:
                    number = int(record.value)
                    self.twice += number in self.seen
                    self.seen.setdefault(number, now)
        consumer.close()

    def wait_for(self, numbers: range) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not all(number in self.seen for number in numbers):
            if time.monotonic() > deadline:
                raise SystemExit(f"rows {numbers.start} to {numbers.stop} are not all seen in {PATIENCE_S} s")
            time.sleep(0.1)


def measure(job: Job) -> Result:
    sizes = Sizes(**job.sizes)
    query = flink_query if job.provider.name == FLINK else spark_query
    with kafka(job.scratch) as target:
        for topic in ("in", "out"):
            target.make(topic, PARTITIONS)
        traffic = Traffic(target.address, sizes.rate)
        threads = [threading.Thread(target=each) for each in (traffic.send, traffic.look)]
        with query(job, target, sizes):
            for thread in threads:
                thread.start()
            try:
                traffic.wait_for(range(1))
                time.sleep(sizes.warm_up)
                first = len(traffic.sent)
                measured = range(first, first + sizes.rate * sizes.seconds)
                before = cpu.read()
                time.sleep(sizes.seconds)
                others = cpu.read().since(before).others
                traffic.wait_for(measured)
            finally:
                traffic.over.set()
                for thread in threads:
                    thread.join()
        if traffic.twice:
            raise SystemExit(f"{traffic.twice} rows were seen twice")
    times = np.array([traffic.seen[number] - traffic.sent[number] for number in measured]) * 1000
    p50, p99 = np.percentile(times, [50, 99])
    return {"figures": {"p50_ms": p50, "p99_ms": p99, "max_ms": times.max(), "others": others}, "batches": []}
