"""A query in a process that may be killed: `python -m integration.systems.job ORDERS.json`.

It prints where its snapline is, then `batch N` for each batch that is done, and `ended`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.query import CheckpointConfig, FixedDelayRestart, NoRestart

from .orders import Orders
from .sinks import write_batch_file, write_to_delta_once, write_to_postgres

ROW = "k int, seq long, v long"
RESULT = "k int, seq long, n long, total long"


class Running(snapline.KeyedProcessFunction):
    """Count and sum of a key, with every row, each of which takes so many seconds."""

    def __init__(self, seconds_a_row: float) -> None:
        self.seconds_a_row = seconds_a_row

    def open(self, ctx: Any) -> None:
        self.so_far = ctx.get_state(snapline.ValueStateDescriptor("so_far", "struct<n: long, total: long>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[int, int, int, int]]:
        if self.seconds_a_row:
            time.sleep(self.seconds_a_row)
        last = self.so_far.value()
        n, total = (1, row.v) if last is None else (last.n + 1, last.total + row.v)
        self.so_far.update((n, total))
        yield row.k, row.seq, n, total


def make_session(orders: Orders) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": orders.local,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "512m",
        # A life is short: what compilers cost is never earned back.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": str(orders.format),
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
        "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.streaming.pollingDelay": "100",
        **({"spark.jars": ",".join(orders.jars)} if orders.jars else {}),
        **orders.conf,
    }
    builder = SparkSession.builder.master(orders.master).appName("systems")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return snapline.configure(builder).getOrCreate()


def results(session: SparkSession, orders: Orders) -> DataFrame:
    reader = session.readStream.options(**orders.source_options)
    if orders.source == "kafka":
        value = F.from_json(F.col("value").cast("string"), ROW).alias("row")
        rows = reader.format("kafka").load().select(value).select("row.*")
    else:
        rows = reader.schema(ROW).format(orders.source).load()
    keyed = snapline.key_by(rows, "k")
    # A partition of Kafka has a key's rows in their order, and in real-time mode there is no batch to sort.
    in_order = keyed if orders.real_time else keyed.order_by("seq")
    return in_order.process(Running(0.003 if orders.budget else 0), RESULT)


def writer(session: SparkSession, orders: Orders) -> Any:
    found = results(session, orders)
    if orders.sink in ("kafka", "snapline-kafka"):
        found = found.select(F.col("k").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
    writer = found.writeStream.outputMode("append").option("checkpointLocation", orders.checkpoint)
    if orders.ends:
        writer = writer.trigger(availableNow=True)
    elif orders.real_time:
        writer = writer.outputMode("update").trigger(realTime=orders.real_time)
    if orders.sink == "batches":
        return writer.foreachBatch(write_batch_file(Path(orders.sink_options["folder"])))
    if orders.sink == "postgres":
        return writer.foreachBatch(write_to_postgres(orders.sink_options))
    if orders.sink == "delta-once":
        return writer.foreachBatch(write_to_delta_once(session, orders.sink_options))
    if orders.sink == "snapline-kafka":
        return snapline.exactly_once(writer).kafka(**orders.sink_options)
    if orders.sink == "snapline-jdbc":
        return snapline.exactly_once(writer).jdbc(**orders.sink_options)
    return writer.format(orders.sink).options(**orders.sink_options)


def run(session: SparkSession, orders: Orders, interval: float | None) -> None:
    config = CheckpointConfig(
        interval=None if interval is None else timedelta(seconds=interval),
        num_retained=2,
        tolerable_failed_checkpoints=orders.tolerable_failures,
        data_inline_threshold=0,  # states are small here, and table files are to be among what is stored
        unaligned=orders.budget is not None,
        **({"aligned_checkpoint_timeout": timedelta(seconds=orders.budget)} if orders.budget else {}),
    )
    restart = FixedDelayRestart(attempts=orders.restarts, delay=0.5) if orders.restarts else NoRestart()
    query = snapline.start(writer(session, orders), config, restart=restart)
    print("started", flush=True)
    over = threading.Event()
    watcher = threading.Thread(target=tell_of_batches, args=(query, over), daemon=True)
    watcher.start()
    try:
        query.awaitTermination()
    finally:
        over.set()
        watcher.join()
        print("counts", json.dumps({**query.checkpoints()["counts"], "restarts": query.restarts}), flush=True)


def tell_of_batches(query: Any, over: threading.Event) -> None:
    newest = None
    while not over.wait(0.05):
        try:
            progress = query.lastProgress
        except Exception:  # between two runs there may be none to ask
            continue
        if progress is not None and progress["numInputRows"] and progress["batchId"] != newest:
            found = int(progress["batchId"])
            for number in range(found if newest is None else newest + 1, found + 1):
                print(f"batch {number}", flush=True)
            newest = found


def state(session: SparkSession, orders: Orders) -> list[list[int]]:
    reader = session.read.format("statestore").option("stateVarName", "so_far")
    rows = reader.load(orders.checkpoint).selectExpr("key.k", "value.*").collect()
    return sorted(list(row) for row in rows)


def main() -> None:
    orders = Orders.read(Path(sys.argv[1]))
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    session = make_session(orders)
    print(f"snapline of {snapline.__file__}", flush=True)
    run(session, orders, orders.interval)
    if orders.ends:
        if orders.interval is not None:
            run(session, orders, None)  # makes durable what came after the last checkpoint
        Path(orders.state).write_text(json.dumps(state(session, orders)))
    session.stop()
    print("ended", flush=True)


if __name__ == "__main__":
    main()
