"""A client of a server of its own: ``python client.py ADDRESS FOLDER WHAT``; prints JSON at the end."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig, KeyedProcessFunction, ValueStateDescriptor
from snapline.errors import SnaplineError


class Count(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_state(ValueStateDescriptor("seen", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield row.k, seen


def start(spark: SparkSession, folder: Path) -> Any:
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    counted = snapline.key_by(ticks.selectExpr("value % 2 AS k"), "k").process(
        Count(), "k long, seen long", uid="count"
    )
    writer = counted.writeStream.format("parquet").option("path", str(folder / "output"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(processingTime="200 milliseconds")
    return snapline.start(writer, CheckpointConfig(interval=timedelta(seconds=1)))


def batches(query: Any) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress.batchId)


def main() -> dict[str, Any]:
    address, folder, what = sys.argv[1:]
    spark = snapline.configure(SparkSession.builder.remote(address)).getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        query = start(spark, Path(folder))
    except SnaplineError as e:
        return {"refused": e.code, "found": e.found}
    while query.checkpoints()["counts"]["completed"] < 1 or batches(query) < 3:
        time.sleep(0.1)
    report = query.recovery
    told = {"id": query.id, "batch": batches(query), "replayed": None if report is None else len(report.replayed)}
    if what == "stay":
        query.stop()
        spark.stop()
    return told


if __name__ == "__main__":
    print(json.dumps(main()), flush=True)
    # As a client that dies: it closes no session.
    os._exit(0)
