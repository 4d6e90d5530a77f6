"""The query of the cluster tests: a sum per key over numbered files, on as many executors as the master gives."""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import snapline


def main() -> None:
    """Streams what lies in the input folder, then ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--master", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--format", default="1")
    parser.add_argument("--memory", action="store_true", help="state in the driver's memory")
    options = parser.parse_args()
    builder = (
        SparkSession.builder.master(options.master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.executor.memory", "1g")
        .config("spark.speculation", "true")
        .config("spark.speculation.multiplier", "1.1")
        .config("spark.speculation.quantile", "0.2")
        .config("spark.sql.streaming.stateStore.checkpointFormatVersion", options.format)
        .config("spark.sql.streaming.stateStore.minDeltasForSnapshot", "3")
    )
    if options.memory:
        storage = snapline.JobManagerCheckpointStorage("1m")
        builder = snapline.configure(builder, state_backend=snapline.HashMapStateBackend(), checkpoint_storage=storage)
    spark = snapline.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.readStream.schema("key long, amount long").option("maxFilesPerTrigger", "1").parquet(options.input)
    sums = rows.groupBy("key").agg(f.sum("amount").alias("total"), f.count("*").alias("rows"))

    def store(batch: object, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{options.output}/{number:05d}")  # type: ignore[attr-defined]
        print(f"batch {number}", flush=True)

    writer = sums.writeStream.outputMode("update").option("checkpointLocation", options.checkpoint)
    writer.foreachBatch(store).trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
