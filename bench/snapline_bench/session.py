"""The Spark session every bench runs in: two cores, two shuffle partitions, Spark's defaults for the rest."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from snapline.java_api import is_connect
from snapline_bench.provider import STORE, Provider

PARTITIONS = 2


def open_session(
    provider: Provider,
    null_jar: Path,
    scratch: Path,
    maintenance: str,
    memory: str,
    builder: SparkSession.Builder | None = None,
) -> SparkSession:
    """`builder`: of a session of another kind; None: of a classic one."""
    settings: dict[str, bool | float | int | str | None] = {
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
    builder = builder or SparkSession.builder.master("local[2]")
    spark = builder.appName(f"bench-{provider.name}").config(map=settings).getOrCreate()
    if not is_connect(spark):
        spark.sparkContext.setLogLevel("ERROR")
    return spark


def unload(spark: SparkSession) -> None:
    """Closes the stores of all queries, none of which runs any more, so that the next one has all memory.

    Spark's maintenance closes them within a minute.
    """
    package = spark._jvm.org.apache.spark.sql.execution.streaming.state  # type: ignore[union-attr]
    stores = getattr(getattr(package, "StateStore$"), "MODULE$")
    stores.stopMaintenanceTask()
    stores.unloadAll()
