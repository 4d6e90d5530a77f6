"""A driver whose function never comes back: it spins in Python, and has written down which process it spins in."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline

sys.path.insert(0, str(Path(__file__).parent))
import functions  # type: ignore[import-not-found]
from processes import gone_in_time, spinners  # type: ignore[import-not-found]

cloudpickle.register_pickle_by_value(functions)


def stopped(spark: SparkSession, folder: Path) -> bool:
    """Whether the worker of a query is gone soon after its stop."""
    source = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    spun = snapline.process(source, functions.Spins(str(folder)), "v long")
    query = spun.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint")).start()
    pids = spinners(folder)
    query.stop()
    return bool(gone_in_time(pids))


def cancelled(spark: SparkSession, folder: Path) -> bool:
    """The same of a job that is cancelled without an interrupt, under Spark's reaper of tasks; and Spark goes on."""
    spun = snapline.process(spark.range(1, numPartitions=1), functions.Spins(str(folder)), "v long")

    def collect() -> None:
        spark.sparkContext.setJobGroup("spins", "spins", interruptOnCancel=False)
        try:
            spun.collect()
        except Exception:
            (folder / "cancelled").touch()

    thread = threading.Thread(target=collect)
    thread.start()
    pids = spinners(folder)
    spark.sparkContext.cancelJobGroup("spins")
    is_gone = gone_in_time(pids)
    thread.join(20)
    return is_gone and (folder / "cancelled").exists() and spark.range(10).count() == 10


def main(folder: Path, daemon: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.python.use.daemon", daemon)
    builder = builder.config("spark.task.reaper.enabled", "true").config("spark.task.reaper.killTimeout", "15s")
    spark = snapline.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name, check in (("stopped", stopped), ("cancelled", cancelled)):
        own = folder / name
        own.mkdir()
        (folder / f"{name}-{check(spark, own)}").touch()
    last = folder / "killed"
    last.mkdir()
    source = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    spun = snapline.process(source, functions.Spins(str(last)), "v long")
    spun.writeStream.format("noop").option("checkpointLocation", str(last / "checkpoint")).start()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
