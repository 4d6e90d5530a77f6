"""Nexmark: what an event costs in each query, in Spark on each store and in Flink SQL, over the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline_bench import cpu, local_files, provider, pyflink, venv
from snapline_bench.events import prepare
from snapline_bench.goal import Goal, Part
from snapline_bench.job import Job, Result
from snapline_bench.nexmark_events import SCHEMA, NexmarkEvents
from snapline_bench.nexmark_keyed import KEYED
from snapline_bench.nexmark_queries import QUERIES, Query
from snapline_bench.provider import CHANGELOG, HDFS, OURS, Provider
from snapline_bench.session import open_session, unload
from snapline_bench.stream import Progress, Stream, Workload

INTERVAL = "snapline-10s"
FLINK, FLINK_MINI = "flink", "flink-mini-batch"
NAMES = (CHANGELOG.name, HDFS.name, OURS, INTERVAL, FLINK, FLINK_MINI)
FLINKS = {FLINK: "Flink SQL on RocksDB", FLINK_MINI: "the same, in mini-batches of 2 s"}
VIEWS = ("person", "auction", "bid")
DELAY = "4 seconds"


@dataclass(frozen=True)
class Sizes:
    """`rows`: events of a batch."""

    rows: int = 200_000
    warm_up: int = 4
    batches: int = 12
    queries: tuple[str, ...] = tuple(QUERIES)
    memory: str = "4g"


QUICK = Sizes(rows=50_000, warm_up=2, batches=4)
REPS = 3
FIGURES = {
    **{f"{name}_cpu": f"{name}, {query.title}: CPU us / event" for name, query in QUERIES.items()},
    "others": "other load, cores",
}
SQL = [name for name, query in QUERIES.items() if not query.keyed]
GOALS = [
    *(Goal(f"{name}_cpu", Part.WHOLE, peer.name, 1.0) for peer in (CHANGELOG, HDFS) for name in SQL),
    *(Goal(f"{name}_cpu", Part.WHOLE, peer, 1.0) for peer in FLINKS for name in QUERIES),
]


def choose(names: list[str], jar: Path | None, settings: dict[str, str]) -> list[Provider]:
    """All of Spark's on one file system, so that only the stores differ."""
    found = provider.find_snapline_jar(jar)
    if found is None:
        raise SystemExit("no jar of Snapline: build it or give --jar PATH")
    files = {local_files.SETTING: local_files.CLASSES[local_files.OURS]}
    ours = provider.snapline_provider(found, {**provider.COORDINATED, **files, **settings})
    known = {
        each.name: replace(each, settings={**each.settings, **files}, jars=(str(found),)) for each in (CHANGELOG, HDFS)
    }
    known |= {OURS: ours, INTERVAL: replace(ours, name=INTERVAL, title="Snapline, a checkpoint every 10 s")}
    known |= {each.name: each for each in _flinks([name for name in names if name in FLINKS])}
    return [known[name] for name in names if name in known]


def _flinks(names: list[str]) -> list[Provider]:
    if not names:
        return []
    try:
        python, *jars = pyflink.installed()
    except venv.NotInstalled as reason:
        print(f"{', '.join(names)}: {reason}; running without")
        return []
    return [Provider(name, FLINKS[name], "", {"python": python}, tuple(jars)) for name in names]


def measure(job: Job) -> Result:
    sizes = Sizes(**{**job.sizes, "queries": tuple(job.sizes["queries"])})
    batches = prepare(NexmarkEvents(sizes.rows, sizes.warm_up + sizes.batches), job.data)
    run = _measure_flink if job.provider.name in FLINKS else _measure_spark
    used = run(job, sizes, batches)
    figures = {f"{name}_cpu": usage.cpu_s / (sizes.rows * sizes.batches) * 1e6 for name, usage in used.items()}
    return {"figures": {**figures, "others": max(usage.others for usage in used.values())}, "batches": []}


def results(name: str, query: Query, events: DataFrame) -> DataFrame:
    """
    Args:
        events: with all columns of `nexmark_events.SCHEMA`; a stream, or all of them.
    """
    views = {view: events.filter(F.col("kind") == kind).withWatermark("time", DELAY) for kind, view in enumerate(VIEWS)}
    for view, rows in views.items():
        rows.createOrReplaceTempView(view)
    if query.keyed and events.isStreaming:
        return KEYED[name](events.sparkSession)
    return events.sparkSession.sql(query.spark)


def stream_of(spark: SparkSession, name: str, folder: Path) -> Stream:
    """A query's stream, with its input in `folder` and its checkpoint beside it."""
    query = QUERIES[name]
    workload = Workload(SCHEMA, lambda events: results(name, query, events))
    return Stream(spark, workload, folder, folder.with_name(f"{folder.name}-checkpoint"), output_mode=query.mode)


def in_turn(queries: tuple[str, ...]) -> tuple[str, ...]:
    """Those that all engines have come first, so that each has had the same before it. The first comes twice: its first
    run is for the JVM, which compiles what all queries have in common.
    """
    ordered = sorted(queries, key=lambda name: QUERIES[name].keyed)
    return (ordered[0], *ordered)


def each_query(job: Job, sizes: Sizes) -> Iterator[tuple[str, Stream]]:
    """The queries that this session has, in turn, each with its stream, which stops before the next one begins."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = open_session(job.provider, job.null_jar, job.scratch, "60s", sizes.memory)
    for number, name in enumerate(in_turn(sizes.queries)):
        if QUERIES[name].keyed and not job.provider.name.startswith(OURS):
            continue
        stream = stream_of(spark, name, job.scratch / f"{number}-{name}")
        yield name, stream
        stream.stop()
        unload(spark)
    spark.stop()


def check_rows(name: str, progress: list[Progress], expected: int) -> None:
    """A query of several sources reads each row as often."""
    rows = sum(each["numInputRows"] for each in progress)
    assert rows in (n * expected for n in (1, 2, 3)), f"{name}: {rows} rows"


def _measure_spark(job: Job, sizes: Sizes, batches: list[Path]) -> dict[str, cpu.Usage]:
    config = snapline.CheckpointConfig(interval=timedelta(seconds=10))
    how = (lambda writer: snapline.start(writer, config)) if job.provider.name == INTERVAL else None
    found = {}
    for name, stream in each_query(job, sizes):
        progress, found[name] = stream.measure(batches[: sizes.warm_up], batches[sizes.warm_up :], how)
        check_rows(name, progress, sizes.rows * sizes.batches)
    return found


def _measure_flink(job: Job, sizes: Sizes, batches: list[Path]) -> dict[str, cpu.Usage]:
    folder = job.scratch / "flink"
    folder.mkdir()
    orders, result = folder / "orders.json", folder / "result.json"
    parts = batches[: sizes.warm_up], batches[sizes.warm_up :]
    told: dict[str, Any] = {
        "folder": str(folder),
        "mini_batch": job.provider.name == FLINK_MINI,
        "parts": [[str(file) for batch in part for file in sorted(batch.iterdir())] for part in parts],
        "queries": [[name, QUERIES[name].flink_view, QUERIES[name].flink] for name in in_turn(sizes.queries)],
    }
    orders.write_text(json.dumps(told))
    jars = os.pathsep.join(job.provider.jars)
    environment = {**os.environ, "PYTHONPATH": str(venv.BENCH), "HADOOP_CLASSPATH": jars, "FLINK_LOG_DIR": str(folder)}
    script = str(venv.BENCH / "pyflink" / "nexmark.py")
    command = [job.provider.settings["python"], script, str(orders), str(result)]
    subprocess.run(command, env=environment, cwd=folder, check=True)
    return {name: cpu.Usage(**usage) for name, usage in json.loads(result.read_text()).items()}
