"""A query and a keyed function on Spark, once: scripts/env.sh archives the classes that they load."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import snapline


class Count(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(snapline.ValueStateDescriptor("count", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield row.key, self.count.value()


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    session = snapline.configure(builder).getOrCreate()
    rows = (
        session.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load().selectExpr("value % 3 AS key")
    )
    counted = snapline.key_by(rows, "key").process(Count(), "key long, count long")
    for frame in (rows.groupBy("key").count(), counted):
        with tempfile.TemporaryDirectory() as folder:
            writer = frame.writeStream.outputMode("update").format("noop")
            query = writer.option("checkpointLocation", folder).start()
            while not query.recentProgress:
                query.awaitTermination(1)
            query.stop()
    session.stop()
    # The JVM writes the archive when it ends.
    gateway: Any = SparkContext._gateway
    jvm = gateway.proc
    jvm.stdin.close()
    jvm.wait()


main()
