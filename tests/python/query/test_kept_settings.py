"""A query that starts again by itself, in a session that was given other settings since."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import snapline
from snapline import CheckpointConfig, FixedDelayRestart, ValueStateDescriptor, key_by
from snapline.functions import Context, KeyedProcessFunction, RuntimeContext

from .real_query import RealQuery

ZONE = "spark.sql.session.timeZone"
ELSEWHERE = "Asia/Tokyo"
# All rows are of this hour, by the clocks of UTC and of Tokyo.
HOUR, HOUR_ELSEWHERE = "22", "7"


class Hours(KeyedProcessFunction):
    """Puts out which hours a key has seen on its clock."""

    def open(self, ctx: RuntimeContext) -> None:
        self.seen = ctx.get_state(ValueStateDescriptor("seen", "string"))

    def process_element(self, row: Any, ctx: Context) -> Iterator[Any]:
        hours = " ".join(sorted({*(self.seen.value() or "").split(), str(row.time.hour)}))
        self.seen.update(hours)
        yield row.key, hours


class MovesAway:
    """A sink that fails at a batch, once, when somebody has given the session another time zone."""

    def __init__(self, session: SparkSession, batch: int) -> None:
        self.session, self.batch = session, batch
        self.failed = False
        self.hours: set[str] = set()

    def __call__(self, rows: DataFrame, batch: int) -> None:
        if batch == self.batch and not self.failed:
            self.failed = True
            self.session.conf.set(ZONE, ELSEWHERE)
            raise RuntimeError("the sink is gone")
        self.hours.update(row.hours for row in rows.collect())

    def writer(self, query: RealQuery) -> DataStreamWriter:
        hours = key_by(query.rows("input", "30 seconds"), "key").process(Hours(), "key int, hours string")
        writer = hours.writeStream.foreachBatch(self).option("checkpointLocation", str(query.checkpoint))
        return writer.trigger(availableNow=True)


@pytest.mark.parametrize("interval", [None, timedelta(hours=1)], ids=["every batch", "interval"])
def test_a_restart_keeps_the_time_zone_of_the_start_by_hand(
    spark: SparkSession, tmp_path: Path, interval: timedelta | None
) -> None:
    query, config = RealQuery(spark, tmp_path), CheckpointConfig(interval=interval)
    query.add_input(0, 3)
    try:
        # With an interval, batch 1 is replayed. Batch 2 runs again for real.
        sink = MovesAway(spark, 2)
        running = snapline.start(sink.writer(query), config, restart=FixedDelayRestart(attempts=1, delay=0))
        running.awaitTermination()
        assert (running.restarts, sink.failed, sink.hours) == (1, True, {HOUR})
        assert spark.conf.get(ZONE) == ELSEWHERE
        # A start by hand is a new one: it takes what the session has.
        query.add_input(3, 4)
        sink = MovesAway(spark, -1)
        snapline.start(sink.writer(query), config).awaitTermination()
        assert sink.hours == {f"{HOUR} {HOUR_ELSEWHERE}"}
    finally:
        spark.conf.set(ZONE, "UTC")
