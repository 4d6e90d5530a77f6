"""Rows of a megabyte through a keyed function, in a driver with a small heap: 300 MB in one partition."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import snapline

KEYS, ROWS, WIDTH = 3, 300, 1_000_000


class KeepsTheLast(snapline.KeyedProcessFunction):
    """Puts out each row with its number among those of its key, keeps the last, and a list of some."""

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(snapline.ValueStateDescriptor("last", "struct<n: long, text: string>"))
        self.some = ctx.get_list_state(snapline.ListStateDescriptor("some", "string"))

    def process_element(self, row: Any, ctx: Any) -> Any:
        last = self.last.value()
        number = 1 if last is None else last.n + 1
        self.last.update((number, row.text))
        if number % 10 == 0:
            self.some.add(row.text)
        yield row.k, number, len(list(self.some.get())), row.text


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "640m")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
    spark = snapline.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.range(ROWS, numPartitions=1).select(
        (F.col("id") % KEYS).alias("k"), F.expr(f"repeat(cast(id % 10 as string), {WIDTH})").alias("text")
    )
    output = "k long, number long, some long, text string"
    out = snapline.key_by(rows, "k").process(KeepsTheLast(), output)
    sums = out.groupBy("k").agg(
        F.count("*"), F.max("number"), F.sum(F.length("text")), F.max("some"), F.countDistinct("number")
    )
    for row in sums.orderBy("k").collect():
        print(*row, flush=True)


if __name__ == "__main__":
    main()
