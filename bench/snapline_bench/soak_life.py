"""One life of the soak's driver: `python -m snapline_bench.soak_life ORDERS.json`. It goes on where the one before was
killed, says now and then what it holds inside, and ends when the file that it is told of appears."""

from __future__ import annotations

import gc
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline_bench.aggregation import live_heap
from snapline_bench.growth import parse_histogram
from snapline_bench.soak_rows import BUCKETS, DELAY, GAP, TTL, WINDOW, Bursts


class Count(snapline.KeyedProcessFunction):
    """Numbers a key's rows within a burst, which a timer ends; a state with a time to live says which was the first."""

    def open(self, ctx: Any) -> None:
        ttl = snapline.StateTtlConfig(timedelta(seconds=TTL), time=snapline.TtlTime.EVENT_TIME)
        self.count = ctx.get_state(snapline.ValueStateDescriptor("count", "long"))
        self.timer = ctx.get_state(snapline.ValueStateDescriptor("timer", "timestamp"))
        self.seen = ctx.get_state(snapline.ValueStateDescriptor("seen", "timestamp", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        timers, before = ctx.timer_service(), self.timer.value()
        if before is not None:
            timers.delete_event_time_timer(before)
        at = row.time + timedelta(seconds=GAP)
        timers.register_event_time_timer(at)
        self.timer.update(at)
        number = (self.count.value() or 0) + 1
        self.count.update(number)
        first = self.seen.value() is None
        self.seen.update(row.time)
        yield row.key, row.time, number, int(first)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.count.clear()
        self.timer.clear()


def query(spark: SparkSession, bursts: Bursts) -> DataFrame:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", bursts.rows)
    rows = source.option("numPartitions", 2).option("advanceMillisPerBatch", 1000).load()
    columns = [F.expr(text).alias(name) for name, text in bursts.sql().items()]
    counted = snapline.key_by(rows.select(*columns).withWatermark("time", f"{DELAY} seconds"), "key").process(
        Count(), "key long, time timestamp, number long, first int", output_event_time="time"
    )
    windows = counted.groupBy(F.window("time", f"{WINDOW} seconds"), (F.col("key") % BUCKETS).alias("bucket")).agg(
        F.count("*").alias("rows"), F.sum("number").alias("numbers"), F.sum("first").alias("firsts")
    )
    return windows.select(F.unix_seconds("window.start").alias("start"), "bucket", "rows", "numbers", "firsts")


def into_sqlite(path: str) -> Callable[[DataFrame, int], None]:
    """Rows and the number of the batch in one transaction: a batch that is there already is passed over."""

    def write(batch: DataFrame, number: int) -> None:
        rows = [tuple(row) for row in batch.collect()]
        with sqlite3.connect(path) as db:
            db.execute("create table if not exists batches (id integer primary key)")
            db.execute("create table if not exists windows (start int, bucket int, rows int, numbers int, firsts int)")
            if db.execute("select 1 from batches where id = ?", (number,)).fetchone() is None:
                db.executemany("insert into windows values (?, ?, ?, ?, ?)", rows)
                db.execute("insert into batches values (?)", (number,))

    return write


def session(orders: dict[str, Any]) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A heap that is there whole from the beginning: what the JVM's memory gains later is none of it.
    java = f"-Xms{orders['memory']} -XX:+AlwaysPreTouch -Djava.io.tmpdir={orders['local']}"
    settings = {
        # What Spark's UI remembers, and the row table, are bounded: small enough to be full after a minute or two.
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.snapline.state.backend.row-table.memory-fraction": "0.05",
        "spark.ui.enabled": "false",
        "spark.local.dir": orders["local"],
        "spark.driver.memory": orders["memory"],
        "spark.driver.extraJavaOptions": java,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[2]").appName("soak")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = snapline.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def histogram(spark: SparkSession) -> str:
    """Live objects of the JVM by class, after a full collection."""
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = gateway.new_array(jvm.java.lang.String, 0)
    signature = gateway.new_array(jvm.java.lang.String, 1)
    signature[0] = "[Ljava.lang.String;"
    commands = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    server = jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    return str(server.invoke(commands, "gcClassHistogram", arguments, signature))


def inside(spark: SparkSession, progress: dict[str, Any]) -> dict[str, Any]:
    # The frames that foreachBatch was given go in circles in Python, and each holds a batch's plan in the JVM.
    gc.collect()
    stores = progress["stateOperators"]
    tables = sum(store["customMetrics"]["snaplineRowTableBytes"] for store in stores)
    return {
        "heap": live_heap(spark) - tables,
        "rocksdb": sum(store["memoryUsedBytes"] for store in stores) - tables,
        "keys": sum(store["numRowsTotal"] for store in stores),
        "batch": progress["batchId"],
        "classes": {name: [held.count, held.bytes] for name, held in parse_histogram(histogram(spark)).items()},
    }


def main(orders: dict[str, Any]) -> None:
    Path(orders["local"]).mkdir(parents=True)
    spark = session(orders)
    writer = query(spark, Bursts(**orders["bursts"])).writeStream.outputMode("append")
    writer = writer.foreachBatch(into_sqlite(orders["output"])).trigger(processingTime=f"{orders['pace_s']} seconds")
    config = snapline.CheckpointConfig(interval=timedelta(seconds=orders["interval_s"]), num_retained=2)
    running = snapline.start(writer.option("checkpointLocation", orders["checkpoint"]), config)
    said, stop = Path(orders["said"]), Path(orders["stop"])
    due = 0.0
    parent = os.getppid()
    # A soak that has died asks for nothing any more.
    while not stop.exists() and os.getppid() == parent:
        if not running.isActive:
            running.awaitTermination()  # raises what it failed with
        last = running.lastProgress
        if last is not None and last.stateOperators and time.monotonic() >= due:
            due = time.monotonic() + orders["every_s"]
            said.with_suffix(".part").write_text(json.dumps(inside(spark, json.loads(last.json))))
            said.with_suffix(".part").replace(said)
        time.sleep(0.2)
    # Between two batches, if one ends soon: Spark takes an interrupted foreachBatch for a failure, with a long trace.
    for _ in range(500):
        if not running.status["isTriggerActive"]:
            break
        time.sleep(0.02)
    running.stop()
    spark.stop()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
