"""The four stateful queries of the demo, as anyone would write them. Only the last one knows of Snapline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import history as aircraft
from data import CONDITION_COLUMNS, DELAY_COLUMNS, FLIGHT_KEY
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline

_FLIGHT = (
    "carrier string, flight bigint, origin string, sched timestamp, hour timestamp, "
    "tailnum string, dest string, dep_delay bigint, distance bigint"
)
_WEATHER = "origin string, hour timestamp, temp double, wind_speed double, precip double, visib double"


@dataclass(frozen=True)
class Source:
    """The prepared folder as streams; every stream takes `days` files, which is that many days, a micro-batch."""

    spark: SparkSession
    folder: Path
    days: int

    def stream(self, name: str, schema: str) -> DataFrame:
        reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", self.days)
        return reader.parquet(str(self.folder / name))


def delays(source: Source) -> DataFrame:
    """Departure delays per airport and hour: a windowed aggregation, every window emitted once, when it is closed."""
    flights = source.stream("flights", _FLIGHT).withWatermark("sched", "2 hours")
    return (
        flights.groupBy("origin", F.window("sched", "1 hour").alias("window"))
        .agg(
            F.count("*").alias("flights"),
            F.count("dep_delay").alias("departed"),
            F.sum("dep_delay").alias("total_delay"),
            F.avg("dep_delay").alias("mean_delay"),
            F.max("dep_delay").alias("worst_delay"),
        )
        .select("origin", F.col("window.start").alias("hour"), *DELAY_COLUMNS[2:])
    )


def distinct(source: Source) -> DataFrame:
    """Every flight once, from the line that repeats some: a row sent again is dropped for up to a day and a half."""
    resent = source.stream("resent", _FLIGHT).withWatermark("sched", "36 hours")
    return resent.dropDuplicatesWithinWatermark(FLIGHT_KEY)


def conditions(source: Source) -> DataFrame:
    """Every flight with the weather of its airport and hour, or without if there was no reading: an outer join."""
    flights = source.stream("flights", _FLIGHT).withWatermark("hour", "3 hours")
    weather = source.stream("weather", _WEATHER).withWatermark("hour", "3 hours")
    return flights.join(weather, ["origin", "hour"], "leftOuter").select(*CONDITION_COLUMNS)


def history(source: Source) -> DataFrame:
    """Every aircraft, whenever it has not been seen for three days, with its history: keyed state in Python."""
    flights = source.stream("flights", _FLIGHT).withWatermark("sched", "2 hours")
    by_aircraft = snapline.key_by(flights, "tailnum").order_by("sched", *FLIGHT_KEY[:3])
    return by_aircraft.process(aircraft.History(), aircraft.SCHEMA)


QUERIES: dict[str, Callable[[Source], DataFrame]] = {
    "delays": delays,
    "distinct": distinct,
    "conditions": conditions,
    "history": history,
}


def queries_on(provider: str) -> dict[str, Callable[[Source], DataFrame]]:
    """Those that the state store can run: keyed state needs column families, which the HDFS-backed one has not."""
    return {name: query for name, query in QUERIES.items() if provider != "hdfs" or query is not history}
