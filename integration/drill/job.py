"""The queries of the drills, in one process that may die at any moment: `python -m integration.drill.job ORDERS.json`.

Started again it goes on. A life that is told to end takes in what is there, starts each query a last time without an
interval, which makes its state durable, writes the states down in state.json of the work, and ends with status 0.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.errors import SnaplineError
from snapline.query import CheckpointConfig, FixedDelayRestart, NoRestart, RestartStrategy
from snapline.window import EventTimeSessionWindows, ProcessWindowFunction

from .work import Orders, Work

SCHEMA = "k int, t long, v long"
DELAY = "20 seconds"
VISIT = timedelta(minutes=30)


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


class Visits(snapline.KeyedProcessFunction):
    """How many rows there were since it was quiet for half an hour of the clock, and the time of the batch."""

    def open(self, ctx: Any) -> None:
        ttl = snapline.StateTtlConfig(VISIT)
        self.visits = ctx.get_state(snapline.ValueStateDescriptor("visits", "long", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        self.visits.update((self.visits.value() or 0) + 1)
        yield 0, self.visits.value(), ctx.timer_service().current_processing_time()


class Session(ProcessWindowFunction):
    """The rows of a key with less than ten seconds between them: how many, and their sum."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[tuple[object, ...]]:
        values = [row.v for row in elements]
        yield context.window().start, key, len(values), sum(values)


class Job:
    """The queries of a work, each in a session of its own: they differ in what counts when a query starts."""

    def __init__(self, session: SparkSession, work: Work, ends: bool) -> None:
        self.work = work
        self._ends = ends
        interval = None if work.interval is None else timedelta(seconds=work.interval)
        # States are small here, and table files are to be among what is harmed.
        self.config = CheckpointConfig(
            interval=interval,
            min_pause=timedelta(seconds=work.pause),
            num_retained=work.retained,
            data_inline_threshold=0,
            file_merging=work.merging,
            upload_changelogs=work.uploads,
        )
        self._sessions = {}
        for name in work.queries:
            self._sessions[name] = session.newSession()
            conf = self._sessions[name].conf
            conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", work.format)
            conf.set("spark.snapline.state.backend.type", work.backend)
            # After a restart Spark leaves out the batch without rows that was due: not where the digest would tell.
            conf.set("spark.sql.streaming.noDataMicroBatches.enabled", name in ("windows", "sessions"))

    def input(self, name: str) -> DataFrame:
        reader = self._sessions[name].readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.work.input(name)))

    def rows(self, name: str) -> DataFrame:
        return self.input(name).withColumn("time", F.timestamp_millis("t")).withWatermark("time", DELAY)

    def windows(self) -> DataFrame:
        windows = (
            self.rows("windows")
            .groupBy(F.window("time", "10 seconds"), "k")
            .agg(F.count("*").alias("n"), F.sum("v").alias("s"))
        )
        return windows.select(F.unix_millis("window.start").alias("start"), "k", "n", "s")

    def chains(self) -> DataFrame:
        schema = "k int, n long, what string, digest string, at long"
        return snapline.key_by(self.rows("chains"), "k").order_by("t", "v").process(Chain(), schema)

    def totals(self) -> DataFrame:
        return (
            self.rows("totals")
            .groupBy("k")
            .agg(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("t").alias("last"))
        )

    def sessions(self) -> DataFrame:
        sessions = EventTimeSessionWindows.with_gap(timedelta(seconds=10))
        keyed = snapline.key_by(self.rows("sessions"), "k").order_by("t", "v")
        return keyed.window(sessions).process(Session(), "start long, k int, n long, s long")

    def visits(self) -> DataFrame:
        rows = self.input("visits").withColumn("all", F.lit(0))
        return snapline.key_by(rows, "all").order_by("t", "v").process(Visits(), "k int, n long, at long")

    def writer(self, name: str) -> Any:
        result, mode = {
            "windows": (self.windows, "append"),
            "chains": (self.chains, "append"),
            "totals": (self.totals, "update"),
            "sessions": (self.sessions, "append"),
            "visits": (self.visits, "append"),
        }[name]
        writer = result().writeStream.outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.work.checkpoint(name)))
        if self._ends:
            writer = writer.trigger(availableNow=True)
        if name in self.work.tables:
            return writer.foreachBatch(into_sqlite(self.work.path / f"{name}.db"))
        return writer.format("parquet").option("path", str(self.work.path / name))

    def run(self, name: str, config: CheckpointConfig) -> None:
        if self.work.plain:
            self.writer(name).start().awaitTermination()
            return
        strategy: RestartStrategy = NoRestart()
        if self.work.restarts:
            strategy = FixedDelayRestart(attempts=self.work.restarts, delay=0.1)
        query = snapline.start(self.writer(name), config, restart=strategy)
        print(f"started {name}", flush=True)
        try:
            query.awaitTermination()
        except SnaplineError as e:
            print(f"refused {self.work.path.name} {name} {e.code}", flush=True)
            raise
        counts = query.checkpoints()["counts"]
        print(f"ended {name} {json.dumps({**counts, 'restarts': query.restarts})}", flush=True)

    def state(self, name: str) -> list[list[object]]:
        if name in ("visits", "sessions"):
            return []  # it shows in what is put out
        reader = self._sessions[name].read.format("statestore").option("path", str(self.work.checkpoint(name)))
        if name == "chains":
            rows = reader.option("stateVarName", "chain").load().selectExpr("key.k", "value.*")
        elif name == "windows":
            rows = reader.load().selectExpr("unix_millis(key.window.start)", "key.k", "value.*")
        else:
            rows = reader.load().selectExpr("key.k", "value.*")
        return sorted(list(row) for row in rows.collect())

    def write_states(self) -> None:
        states = {name: self.state(name) for name in self.work.queries}
        (self.work.path / "state.part").write_text(json.dumps(states))
        (self.work.path / "state.part").replace(self.work.path / "state.json")


def into_sqlite(path: Path) -> Callable[[DataFrame, int], None]:
    """Output and the number of the batch in one transaction.

    A batch that is there already is computed all the same: Spark demands of foreachBatch that every store commits.
    While there is a file of the same name that ends in .gone, it fails.
    """

    def write(batch: DataFrame, number: int) -> None:
        if path.with_suffix(".gone").exists():
            raise OSError("the sink is gone")
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


def make_session(orders: Orders) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # A life is short: what compilers cost is never earned back.
    java = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC", *orders.java]
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": orders.local,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.executor.memory": "1g",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
        "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
        # What may be purged is gone at once.
        "spark.sql.streaming.minBatchesToRetain": "2",
        "spark.sql.codegen.wholeStage": "false",
        # Queries that have nothing to do would look for files a hundred times a second.
        "spark.sql.streaming.pollingDelay": "100",
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.driver.extraClassPath": orders.files,
        "spark.executor.extraClassPath": orders.files,
        "spark.hadoop.fs.file.impl": "LocalFiles",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "LocalFiles$Context",
        **orders.conf,
    }
    builder = SparkSession.builder.master(orders.master).appName("drill")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return snapline.configure(builder).getOrCreate()


def side_by_side(tasks: list[Callable[[], None]], ends: bool, persists: bool = False) -> None:
    """To the end of all; where none is to end by itself, to the first failure, or to that of all."""
    with ThreadPoolExecutor(max(1, len(tasks))) as pool:
        running = [pool.submit(task) for task in tasks]
        done, _ = wait(running, return_when=ALL_COMPLETED if ends or persists else FIRST_EXCEPTION)
        failures = [str(each.exception()) for each in done if each.exception() is not None]
        if failures and not ends:
            print("failed: " + failures[0], flush=True)
            os._exit(1)
        for each in running:
            each.result()


def do(session: SparkSession, works: Sequence[Work], ends: bool, persists: bool = False) -> None:
    jobs = [Job(session, work, ends) for work in works]
    queries = [(job, name) for job in jobs for name in job.work.queries]
    side_by_side([partial(job.run, name, job.config) for job, name in queries], ends, persists)
    if ends:
        lagging = [(job, name) for job, name in queries if job.config.takes_checkpoints]
        side_by_side([partial(job.run, name, CheckpointConfig()) for job, name in lagging], ends)
        for job in jobs:
            job.write_states()


def main() -> None:
    orders = Orders.read(Path(sys.argv[1]))
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    session = make_session(orders)
    print("session", flush=True)
    if orders.waits:
        if not sys.stdin.readline():
            sys.exit("nobody is there to tell what to do")
        orders = Orders.read(Path(sys.argv[1]))
    failed = False
    for works in [orders.works] if orders.together else [[work] for work in orders.works]:
        names = " ".join(work.path.name for work in works)
        print(f"work {names}", flush=True)
        try:
            do(session, works, orders.ends, orders.persists)
        except Exception as e:
            failed = True
            print(f"failed {names} {type(e).__name__}: {e}", flush=True)
    session.stop()
    sys.exit(failed)


if __name__ == "__main__":
    main()
