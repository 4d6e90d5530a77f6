"""The queries of the kill drill, in one process that may die at any moment: `job.py WORK --input FOLDER …`.

Started again with the same arguments it goes on. When everything is taken in, each query is started a last time without
an interval, which makes its state durable; the states are then written down in WORK/state.json, and the job ends with
status 0.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.query import CheckpointConfig, FixedDelayRestart, NoRestart, RestartStrategy

SCHEMA = "k int, t long, v long"
DELAY = "20 seconds"


def digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:16]


class Chain(snapline.KeyedProcessFunction):
    """Each value and each timer of a key changes a digest: it depends on their order."""

    def open(self, ctx: Any) -> None:
        self.chain = ctx.get_state(snapline.ValueStateDescriptor("chain", "struct<n: long, digest: string, at: long>"))

    def _link(self, ctx: Any, what: str, number: int) -> tuple[object, ...]:
        last = self.chain.value()
        n, before = (0, "") if last is None else (last.n, last.digest)
        at = ctx.timer_service().current_processing_time()
        self.chain.update((n + 1, digest(before, what, number), at))
        return ctx.get_current_key(), n + 1, what, digest(before, what, number), at

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        ctx.timer_service().register_event_time_timer(row.time + timedelta(seconds=15))
        yield self._link(ctx, "row", row.v)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[object, ...]]:
        yield self._link(ctx, "timer", timestamp)


class Job:
    def __init__(self, session: SparkSession, source: Path, work: Path) -> None:
        self.session = session
        self.source = source
        self.work = work

    def rows(self) -> DataFrame:
        rows = self.session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.source))
        return rows.withColumn("time", F.timestamp_millis("t")).withWatermark("time", DELAY)

    def windows(self) -> DataFrame:
        windows = (
            self.rows().groupBy(F.window("time", "10 seconds"), "k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))
        )
        return windows.select(F.unix_millis("window.start").alias("start"), "k", "n", "s")

    def chains(self) -> DataFrame:
        schema = "k int, n long, what string, digest string, at long"
        return snapline.key_by(self.rows(), "k").order_by("t", "v").process(Chain(), schema)

    def totals(self) -> DataFrame:
        return self.rows().groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("t").alias("last"))

    def writer(self, name: str, table: bool) -> Any:
        """`table`: into SQLite; else into Parquet files, of which Spark keeps a log."""
        result, mode = {
            "windows": (self.windows, "append"),
            "chains": (self.chains, "append"),
            "totals": (self.totals, "update"),
        }[name]
        writer = result().writeStream.outputMode(mode).queryName(f"{name}-{self.work.name}")
        writer = writer.option("checkpointLocation", str(self.work / "checkpoints" / name)).trigger(availableNow=True)
        if table:
            return writer.foreachBatch(into_sqlite(self.work / f"{name}.db"))
        return writer.format("parquet").option("path", str(self.work / name))

    def state(self, name: str) -> list[list[object]]:
        reader = self.session.read.format("statestore").option("path", str(self.work / "checkpoints" / name))
        if name == "chains":
            rows = reader.option("stateVarName", "chain").load().selectExpr("key.k", "value.*")
        elif name == "windows":
            rows = reader.load().selectExpr("unix_millis(key.window.start)", "key.k", "value.*")
        else:
            rows = reader.load().selectExpr("key.k", "value.*")
        return sorted(list(row) for row in rows.collect())


def into_sqlite(path: Path) -> Callable[[DataFrame, int], None]:
    """Output and the number of the batch in one transaction.

    A batch that is there already is computed all the same: Spark demands of foreachBatch that every store commits.
    """

    def write(batch: DataFrame, number: int) -> None:
        rows = [(number, json.dumps(list(row))) for row in batch.collect()]
        with sqlite3.connect(path) as db:
            db.execute("create table if not exists batches (id integer primary key)")
            db.execute("create table if not exists rows (batch integer, row text)")
            if db.execute("select 1 from batches where id = ?", (number,)).fetchone():
                print(f"skipped {path.stem} {number}", flush=True)
                return
            db.executemany("insert into rows values (?, ?)", rows)
            db.execute("insert into batches values (?)", (number,))
        print(f"batch {path.stem} {number}", flush=True)

    return write


def make_session(options: argparse.Namespace) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": str(options.local),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.executor.memory": "1g",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": str(options.format),
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
        "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
        # What may be purged is gone at once.
        "spark.sql.streaming.minBatchesToRetain": "2",
        # A life is short: what the optimizing compiler costs is never earned back.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto",
    }
    builder = SparkSession.builder.master(options.master).appName("drill")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return snapline.configure(builder).getOrCreate()


def run(job: Job, options: argparse.Namespace, config: CheckpointConfig) -> None:
    """All queries, side by side, to their end."""
    strategy: RestartStrategy = NoRestart()
    if options.restarts:
        strategy = FixedDelayRestart(attempts=options.restarts, delay=0.1)
    failures: list[BaseException] = []

    def one(name: str) -> None:
        try:
            writer = job.writer(name, name in options.tables)
            query = snapline.start(writer, config, restart=strategy)
            print(f"started {name}", flush=True)
            query.awaitTermination()
            counts = query.checkpoints()["counts"]
            print(f"ended {name} {json.dumps({**counts, 'restarts': query.restarts})}", flush=True)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=one, args=(name,)) for name in options.queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, nargs="+", help="one after the other")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--format", type=int, default=1)
    parser.add_argument("--interval", type=float, help="seconds; none: every batch is durable")
    parser.add_argument("--retained", type=int, default=2)
    parser.add_argument("--restarts", type=int, default=0)
    parser.add_argument("--queries", nargs="+", default=["windows", "chains", "totals"])
    parser.add_argument("--tables", nargs="*", default=["totals"], help="queries whose sink is SQLite")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    session = make_session(options)
    print("session", flush=True)
    interval = None if options.interval is None else timedelta(seconds=options.interval)
    config = CheckpointConfig(interval=interval, num_retained=options.retained)
    failed = False
    for work in options.work:
        job = Job(session, options.input, work)
        print(f"work {work.name}", flush=True)
        try:
            run(job, options, config)
            if interval is not None:
                run(job, options, CheckpointConfig())
            states = {name: job.state(name) for name in options.queries}
            (work / "state.part").write_text(json.dumps(states))
            (work / "state.part").replace(work / "state.json")
        except Exception as e:
            failed = True
            print(f"failed {work.name} {type(e).__name__}: {e}", flush=True)
    session.stop()
    sys.exit(failed)


if __name__ == "__main__":
    main()
