"""A start that replays a batch whose function never comes back. Arguments: a folder, and how it is to be stopped."""

from __future__ import annotations

import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline

from ..process.processes import gone_in_time, spinners
from ..spark_session import open_session


def spins_if_told(folder: str) -> Any:
    """By value: workers do not find this module."""

    class SpinsIfTold(snapline.KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Any:
            import os
            from pathlib import Path

            if (Path(folder) / "spin").exists():
                spinner = Path(folder) / "spinner"
                spinner.mkdir(exist_ok=True)
                (spinner / str(os.getpid())).touch()
                while True:
                    pass
            if (Path(folder) / "fail").exists():
                raise ValueError("as it was told")
            return [(row.v,)]

    return SpinsIfTold()


def start(spark: SparkSession, folder: Path, **more: Any) -> Any:
    rows = spark.readStream.schema("v long").option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    kept = snapline.key_by(rows, "v").process(spins_if_told(str(folder)), "v long")
    writer = kept.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    config = snapline.CheckpointConfig(interval=timedelta(hours=1))
    return snapline.start(writer, config, path=str(folder / "out"), **more)


def add(spark: SparkSession, folder: Path, value: int) -> None:
    spark.createDataFrame([(value,)], "v long").coalesce(1).write.mode("append").parquet(str(folder / "in"))


def by_the_keyboard(spark: SparkSession, folder: Path) -> None:
    """The parent sends the signal when the function spins."""
    try:
        start(spark, folder)
    except KeyboardInterrupt:
        print("interrupted", len(spark.streams.active), gone_in_time(spinners(folder)), flush=True)
        (folder / "spin").unlink()
        again = start(spark, folder)
        again.processAllAvailable()
        again.stop()
        print("rows", sorted(row.v for row in spark.read.parquet(str(folder / "out")).collect()), flush=True)


def by_stop(spark: SparkSession, folder: Path) -> None:
    """Of a query that is being started again after a failure."""
    (folder / "spin").unlink()
    query = start(spark, folder, restart=snapline.FixedDelayRestart(attempts=5, delay=3.0))
    query.processAllAvailable()
    (folder / "fail").touch()
    add(spark, folder, 3)
    deadline = time.monotonic() + 60
    while not query.restarts and time.monotonic() < deadline:
        time.sleep(0.01)
    # It waits before it starts again.
    (folder / "spin").touch()
    pids = spinners(folder)
    ended = threading.Thread(target=query.stop, daemon=True)
    ended.start()
    ended.join(30)
    print("stopped", not ended.is_alive(), len(spark.streams.active), gone_in_time(pids), flush=True)


def main(folder: Path, how: str) -> None:
    spark = open_session("interrupted")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    for value in range(2):
        add(spark, folder, value)
    query = start(spark, folder)
    query.processAllAvailable()
    query.stop()
    (folder / "spin").touch()
    {"keyboard": by_the_keyboard, "stop": by_stop}[how](spark, folder)
    print("end", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
