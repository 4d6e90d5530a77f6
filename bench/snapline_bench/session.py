"""The Spark session every bench runs in: two cores, two shuffle partitions, Spark's defaults for the rest."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from snapline_bench.provider import STORE, Provider

PARTITIONS = 2


def open_session(provider: Provider, null_jar: Path, scratch: Path, maintenance: str, memory: str) -> SparkSession:
    settings: dict[str, bool | float | int | str | None] = {
        "spark.master": "local[2]",
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.jars": ",".join([str(null_jar), *provider.jars]),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        # Each batch is a folder: more than 32 would be listed by a job, which costs more than a small batch.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
        "spark.sql.streaming.numRecentProgressUpdates": "10000",
        f"{STORE}.maintenanceInterval": maintenance,
        **provider.spark_settings(),
    }
    builder = SparkSession.builder.appName(f"bench-{provider.name}")
    spark = builder.config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
