"""A function that depends on everything, over rows that come late: what waits must come out as if it had not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import CheckpointConfig, SupervisedQuery, ValueStateDescriptor, key_by
from snapline.folder.unaligned import rows_wait
from snapline.functions import Context, KeyedProcessFunction, RuntimeContext
from snapline.query import HadoopFiles

from .real_query import RealQuery, wait_for

FILES = 5
UNALIGNED = CheckpointConfig(unaligned=True, aligned_checkpoint_timeout=timedelta(milliseconds=20))
WITH_INTERVAL = CheckpointConfig(
    unaligned=True, aligned_checkpoint_timeout=timedelta(milliseconds=20), interval=timedelta(hours=1)
)


class Chain(KeyedProcessFunction):
    """Depends on everything: the order of rows, timers, and the watermark at each."""

    def __init__(self, seconds_a_row: float) -> None:
        self.seconds_a_row = seconds_a_row

    def open(self, ctx: RuntimeContext) -> None:
        self.chain = ctx.get_state(ValueStateDescriptor("chain", "long"))

    def _next(self, value: int) -> int:
        now = ((self.chain.value() or 0) * 31 + value) % 1_000_003
        self.chain.update(now)
        return now

    def process_element(self, row: Any, ctx: Context) -> Iterator[Any]:
        time.sleep(self.seconds_a_row)
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 45_000)
        yield row.key, "row", row.value, self._next(row.value), ctx.current_watermark()

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[Any]:
        yield ctx.get_current_key(), "timer", timestamp, self._next(timestamp), ctx.current_watermark()


class Chains(RealQuery):
    """The function over the files of :class:`RealQuery`, into a Parquet sink."""

    def __init__(self, session: SparkSession, work: Path, seconds_a_row: float) -> None:
        super().__init__(session, work)
        self.output_path = work / "output"
        self.seconds_a_row = seconds_a_row

    def chains(self) -> DataFrame:
        keyed = key_by(self.rows("input", "30 seconds"), "key").order_by("time", "value")
        return keyed.process(Chain(self.seconds_a_row), "key int, kind string, value long, chain long, watermark long")

    def writer(self, **trigger: Any) -> Any:
        writer = self.chains().writeStream.format("parquet").option("path", str(self.output_path))
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger)

    def run(self, config: CheckpointConfig) -> list[dict[str, Any]]:
        """Takes in all that is there; the progress of its batches."""
        query = snapline.start(self.writer(availableNow=True), config)
        query.awaitTermination()
        return [
            progress["stateOperators"][0]["customMetrics"]
            for progress in query.recentProgress
            if progress["stateOperators"]
        ]

    def rows_out(self) -> list[tuple[object, ...]]:
        return sorted(map(tuple, self.session.read.parquet(str(self.output_path)).collect()), key=repr)

    @property
    def files(self) -> HadoopFiles:
        return HadoopFiles(self.session, str(self.checkpoint))

    def stop_while_rows_wait(self, query: SupervisedQuery) -> None:
        """When all input has been taken in, and a batch has the watermark of all of it: after a restart Spark may form
        other batches of the rest."""
        self.wait_until_all_is_read()
        query.stop()
        assert rows_wait(self.files)

    def wait_until_all_is_read(self) -> None:
        wait_for(lambda: self.batches_at_the_end() > 1 and rows_wait(self.files))

    def batches_at_the_end(self) -> int:
        offsets = [(self.checkpoint / "offsets" / str(batch)).read_text() for batch in self.batches("commits")]
        return sum(f'"logOffset":{FILES - 1}' in text for text in offsets)
