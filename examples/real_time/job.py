"""Kafka in, a keyed function, Kafka out, row by row in Spark's real-time mode: `python job.py BROKER FOLDER JARS`.

It runs until it is killed. Started again it goes on from the newest micro-batch that ended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import snapline

FLIGHT = "tailnum string, number int, dest string, delay int"
RESULT = "tailnum string, number int, flights int, mean_delay double"
BATCH = "20 seconds"


class Delays(snapline.KeyedProcessFunction):
    """How many flights an aircraft has had, and how late they were."""

    def open(self, ctx: Any) -> None:
        self.so_far = ctx.get_state(snapline.ValueStateDescriptor("so_far", "struct<flights: int, delay: int>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int, int, float]]:
        last = self.so_far.value()
        flights, delay = (0, 0) if last is None else last
        flights, delay = flights + 1, delay + (row.delay or 0)
        self.so_far.update((flights, delay))
        yield row.tailnum, row.number, flights, delay / flights


def main(broker: str, folder: str, jars: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        # A core for each partition of the topic and of the state, and some to spare.
        "spark.master": "local[6]",
        "spark.sql.shuffle.partitions": "2",
        "spark.jars": jars,
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.appName("real time")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = snapline.configure(builder).getOrCreate()

    options = {"kafka.bootstrap.servers": broker, "subscribe": "flights", "startingOffsets": "earliest"}
    flights = spark.readStream.format("kafka").options(**options).load()
    rows = flights.select(F.from_json(F.col("value").cast("string"), FLIGHT).alias("row")).select("row.*")
    found = snapline.key_by(rows, "tailnum").process(Delays(), RESULT)
    records = found.select(F.col("tailnum").alias("key"), F.to_json(F.struct("*")).alias("value"))

    writer = (
        records.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("topic", "delays")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .outputMode("update")
        .trigger(realTime=BATCH)
    )
    snapline.start(writer).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
