"""Kafka in, a keyed function, Kafka out, each row once: `python job.py BROKER FOLDER JARS`.

It runs until it is killed. Started again it goes on where it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import snapline

FLIGHT = "tailnum string, number int, dest string, delay int"
RESULT = "tailnum string, number int, flights int, total_delay int, route string"


class Journeys(snapline.KeyedProcessFunction):
    """Counts the flights of an aircraft, sums up their delays, and says where it came from."""

    def open(self, ctx: Any) -> None:
        self.so_far = ctx.get_state(
            snapline.ValueStateDescriptor("so_far", "struct<flights: int, delay: int, at: string>")
        )

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[str, int, int, int, str]]:
        last = self.so_far.value()
        flights, delay, at = (0, 0, "NYC") if last is None else (last.flights, last.delay, last.at)
        flights, delay = flights + 1, delay + (row.delay or 0)
        self.so_far.update((flights, delay, row.dest))
        yield row.tailnum, row.number, flights, delay, f"{at}-{row.dest}"


def main(broker: str, folder: str, jars: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("exactly once").config("spark.jars", jars)
    for name, value in {"ui.enabled": "false", "sql.shuffle.partitions": "4", "log.level": "ERROR"}.items():
        builder = builder.config(f"spark.{name}", value)
    spark = snapline.configure(builder).getOrCreate()

    options = {
        "kafka.bootstrap.servers": broker,
        "subscribe": "flights",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "4000",
    }
    flights = spark.readStream.format("kafka").options(**options).load()
    rows = flights.select(F.from_json(F.col("value").cast("string"), FLIGHT).alias("row")).select("row.*")
    found = snapline.key_by(rows, "tailnum").order_by("number").process(Journeys(), RESULT)
    records = found.select(F.col("tailnum").alias("key"), F.to_json(F.struct("*")).alias("value"))

    writer = records.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    query = snapline.start(
        snapline.exactly_once(writer).kafka(broker, "journeys"),
        snapline.query.CheckpointConfig(interval=timedelta(seconds=5)),
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
