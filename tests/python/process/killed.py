"""A query that a test kills: each file a tick, three files a micro-batch, its output in files."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline

sys.path.insert(0, str(Path(__file__).parent))
import functions  # type: ignore[import-not-found]

cloudpickle.register_pickle_by_value(functions)


def main(folder: Path, interval: float) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"):
        builder = builder.config(name, "1000000")
    spark = snapline.configure(builder.config("spark.sql.shuffle.partitions", "3")).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    ticks = spark.readStream.schema("v long").option("maxFilesPerTrigger", 3).parquet(str(folder / "ticks"))
    counted = snapline.process(ticks, functions.CountingSource(), "subtask int, split int, number long")
    writer = counted.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer = writer.trigger(availableNow=True)
    if interval:
        config = snapline.CheckpointConfig(interval=timedelta(seconds=interval))
        snapline.start(writer, config, path=str(folder / "out")).awaitTermination()
    else:
        writer.start(str(folder / "out")).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
