"""Queries whose batches are cut, in one process that may die at any moment.

`python -m integration.drill.unaligned_job FOLDER`: each query takes in all that is there and ends. Started again it
goes on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import snapline

from .job import SCHEMA, digest, into_sqlite

SECONDS_A_ROW = 0.003
BUDGET = timedelta(milliseconds=20)

#: By name: format of the checkpoint, interval in seconds.
QUERIES = {
    f"{sink}-{version}-{'every-batch' if interval is None else 'interval'}": (version, interval)
    for sink in ("sqlite", "files")
    for version in (1, 2)
    for interval in (None, 2.0)
}


class Chain(snapline.KeyedProcessFunction):
    """Each value of a key changes a digest: it depends on their order. The row takes its time."""

    def open(self, ctx: Any) -> None:
        self.chain = ctx.get_state(snapline.ValueStateDescriptor("chain", "struct<n: long, digest: string>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        time.sleep(SECONDS_A_ROW)
        last = self.chain.value()
        n, before = (0, "") if last is None else last
        self.chain.update((n + 1, digest(before, "row", row.v)))
        yield row.k, n + 1, digest(before, "row", row.v)


def run(session: SparkSession, folder: Path, name: str) -> None:
    version, interval = QUERIES[name]
    own = session.newSession()
    own.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", version)
    rows = own.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "input"))
    chains = snapline.key_by(rows, "k").order_by("t", "v").process(Chain(), "k int, n long, digest string")
    writer = chains.writeStream.option("checkpointLocation", str(folder / f"{name}-checkpoint"))
    writer = writer.trigger(availableNow=True)
    if name.startswith("sqlite"):
        writer = writer.foreachBatch(into_sqlite(folder / f"{name}.db"))
    else:
        writer = writer.format("parquet").option("path", str(folder / name))
    config = snapline.CheckpointConfig(
        interval=None if interval is None else timedelta(seconds=interval),
        unaligned=True,
        aligned_checkpoint_timeout=BUDGET,
    )
    query = snapline.start(writer, config)
    print(f"started {name}", flush=True)
    query.awaitTermination()
    print(f"ended {name}", flush=True)


def main(folder: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master("local[2]").appName("unaligned drill")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    with ThreadPoolExecutor(len(QUERIES)) as pool:
        for done in [pool.submit(run, session, folder, name) for name in QUERIES]:
            done.result()
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
