"""Queries with AT_LEAST_ONCE checkpoints, in one process that may die at any moment.

`python -m integration.drill.at_least_once_job FOLDER FILES`: each query takes in all that is there and ends. Started
again it goes on. FILES: the jar of LocalFiles.java. With `--end` each makes its state durable, and writes it down as
<name>.json: a list of [key, rows, partition].
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline

from .job import SCHEMA

PARTITIONS = 4
# A snapshot takes longer than a batch: partitions that wait for the only thread get ahead.
SLOW_MS = 300
CONFIG = snapline.CheckpointConfig(
    mode="AT_LEAST_ONCE",
    interval=timedelta(milliseconds=300),
    max_concurrent_checkpoints=3,
    tolerable_failed_checkpoints=100,
    data_inline_threshold=0,
)

#: By name: what keeps state, format of the checkpoint, backend.
QUERIES = {
    f"{kind}-{version}-{backend}": (kind, version, backend)
    for kind, version, backend in (
        ("counts", 1, "rocksdb"),
        ("counts", 2, "hashmap"),
        ("keyed", 1, "hashmap"),
        ("keyed", 2, "rocksdb"),
        ("distinct", 1, "rocksdb"),
        ("distinct", 2, "hashmap"),
    )
}


class Count(snapline.KeyedProcessFunction):
    """How many rows a key had."""

    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        self.n.update((self.n.value() or 0) + 1)
        yield row.k, self.n.value()


def result(kind: str, rows: DataFrame) -> DataFrame:
    if kind == "counts":
        return rows.groupBy("k").agg(F.count("*").alias("n"))
    if kind == "keyed":
        return snapline.key_by(rows, "k").process(Count(), "k int, n long")
    return rows.select("k", "v").dropDuplicates()


def run(session: SparkSession, folder: Path, name: str, end: bool) -> None:
    kind, version, backend = QUERIES[name]
    own = session.newSession()
    own.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", version)
    own.conf.set("spark.snapline.state.backend.type", backend)
    rows = own.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "input"))
    checkpoint = folder / f"{name}-checkpoint"
    writer = result(kind, rows).writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    if kind == "distinct":
        writer = writer.format("parquet").option("path", str(folder / name))
    else:
        writer = writer.format("noop").outputMode("update")
    query = snapline.start(writer, snapline.CheckpointConfig() if end else CONFIG)
    if query.recovery is not None:
        print(f"recovered {name} {query.recovery.checkpoint} {query.recovery.rows_twice}", flush=True)
    print(f"started {name}", flush=True)
    query.awaitTermination()
    if end and kind != "distinct":
        value = "value.count" if kind == "counts" else "value.value"
        state = snapline.read_state(str(checkpoint), state=None if kind == "counts" else "n", session=own)
        found = state.select("key.k", value, "partition").collect()
        (folder / f"{name}.json").write_text(json.dumps([list(row) for row in found]))
    print(f"ended {name}", flush=True)


def main(folder: Path, files: str, end: bool) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    slow = 0 if end else SLOW_MS
    java = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC", f"-Ddrill.slow={slow}"]
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.snapline.snapshot.threads": "1",
        "spark.driver.extraClassPath": files,
        "spark.hadoop.fs.file.impl": "LocalFiles",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "LocalFiles$Context",
        "spark.driver.extraJavaOptions": " ".join(java),
    }
    builder = SparkSession.builder.master("local[2]").appName("at least once drill")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    with ThreadPoolExecutor(len(QUERIES)) as pool:
        for done in [pool.submit(run, session, folder, name, end) for name in QUERIES]:
            done.result()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], "--end" in sys.argv[3:])
