"""The Spark job that the demo starts, kills and starts again: `python job.py INPUT WORK --progress FILE`.

It runs the four queries over everything in INPUT and ends. Checkpoints and output live in WORK, so that the same
command continues where a killed run was; there is no other code for recovery. Each progress report goes to the file
as one line of JSON, as Spark made it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TextIO

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from queries import Source, queries_on

import snapline

PROVIDERS = {
    "snapline": "io.snapline.spark.SnaplineStateStoreProvider",
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "hdfs": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}


class ProgressLog(StreamingQueryListener):
    """Writes every progress report down at once: after a SIGKILL the file holds all that was reported before it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._out.write(event.progress.json + "\n")
        self._out.flush()

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...


def session(provider: str, work: Path) -> SparkSession:
    """A small local session with the chosen state store; two tasks at a time, as many as state has partitions."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else tasks run the first python3 of the path
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("snapline flights demo")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.local.dir", str(work / "spark"))
        # The whole job takes two minutes: too short to earn back what the JVM's optimizing compiler costs.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    )
    # The jar is needed whatever the provider: the query of keyed state runs on any that has column families.
    return (
        snapline.configure(builder)
        .config("spark.sql.streaming.stateStore.providerClass", PROVIDERS[provider])
        .getOrCreate()
    )


def run(source: Source, work: Path, provider: str) -> None:
    """Starts the queries side by side and returns when each has read all there is."""
    started = [
        query(source)
        .writeStream.queryName(name)
        .outputMode("append")
        .option("checkpointLocation", str(work / "checkpoints" / name))
        .trigger(availableNow=True)
        .format("parquet")
        .start(str(work / "output" / name))
        for name, query in queries_on(provider).items()
    ]
    for query in started:
        query.awaitTermination()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--progress", type=Path, required=True)
    parser.add_argument("--provider", choices=PROVIDERS, default="snapline")
    parser.add_argument("--days", type=int, default=1, help="days, which is files, per micro-batch")
    args = parser.parse_args()
    spark = session(args.provider, args.work)
    spark.sparkContext.addPyFile(str(Path(__file__).with_name("history.py")))  # the tasks call what is in it
    with args.progress.open("w") as out:
        spark.streams.addListener(ProgressLog(out))
        run(Source(spark, args.input, args.days), args.work, args.provider)
        spark.stop()


if __name__ == "__main__":
    main()
