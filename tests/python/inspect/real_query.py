"""Runs a streaming query on Snapline's store, and prints as JSON which key groups and keys Spark's own
reader sees after each batch.

Arguments: a folder to work in, the checkpoint format.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import snapline

BATCHES = 6


def main(work: Path, checkpoint_format: str) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
        "spark.sql.streaming.stateStore.checkpointFormatVersion": checkpoint_format,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    for batch in range(BATCHES):
        session.range(batch * 50, batch * 50 + 100, 1, 1).write.mode("append").parquet(str(work / "input"))
    rows = session.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(str(work / "input"))
    writer = rows.dropDuplicates(["id"]).writeStream.format("noop").trigger(availableNow=True)
    writer.option("checkpointLocation", str(work / "checkpoint")).start().awaitTermination()
    seen = {}
    for batch in range(BATCHES):
        reader = session.read.format("statestore").option("path", str(work / "checkpoint")).option("batchId", batch)
        keys = reader.load().selectExpr("pmod(hash(key.id), 57600) AS key_group", "key.id")
        seen[batch + 1] = sorted(tuple(row) for row in keys.collect())
    session.stop()
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
