"""Outputs that several sinks read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import KeyedProcessFunction, OutputTag, ValueStateDescriptor
from snapline.errors import InvalidConfiguration

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ODD, BIG = OutputTag("odd", "n long"), OutputTag("big", "n long")


class Sorted(KeyedProcessFunction):
    """Writes a line for each call, beside what it puts out."""

    def __init__(self, calls: Path) -> None:
        self.calls = calls

    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", "long"))
        self.big = ctx.get_metrics_group().add_group("numbers", "big").distribution("size")
        self.rows = ctx.get_metrics_group().meter("rows")

    def process_element(self, row: Any, ctx: Any) -> Any:
        with self.calls.open("a") as file:
            file.write(f"{row.n}\n")
        self.count.update((self.count.value() or 0) + 1)
        self.rows.mark_event()
        if row.n % 2:
            yield ODD, (row.n,)
        if row.n > 6:
            self.big.update(row.n)
            yield BIG, (row.n,)
        yield row.k, self.count.value()


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("several sinks")
    yield session
    session.stop()


def test_each_output_has_its_sink_and_the_function_runs_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(n % 3, n) for n in range(10)], "k long, n long")
    rows.write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema("k long, n long").parquet(str(tmp_path / "rows"))
    calls = tmp_path / "calls"
    result = snapline.key_by(stream, "k").process(Sorted(calls), "k long, count long", side_outputs=[ODD, BIG])
    found: dict[str, list[Any]] = {}

    def keep(name: str) -> Any:
        def sink(df: DataFrame, batch: int) -> None:
            assert batch == 0
            # Reads its rows twice, and not all of them at first.
            df.head(1)
            found[name] = sorted(tuple(row) for row in df.collect())

        return sink

    writer = result.writeStream.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
    sinks = snapline.each_output(keep("main"), {ODD: keep("odd"), "big": keep("big")})
    query = writer.foreachBatch(sinks).trigger(availableNow=True).start()
    query.awaitTermination()
    assert found["odd"] == [(n,) for n in (1, 3, 5, 7, 9)]
    assert found["big"] == [(n,) for n in (7, 8, 9)]
    assert found["main"] == sorted((n % 3, n // 3 + 1) for n in range(10))
    assert len(calls.read_text().splitlines()) == 10
    progress = query.lastProgress
    assert progress is not None
    metrics = progress.stateOperators[0].customMetrics
    assert (metrics["rows"], metrics["numbers.big.sizeCount"], metrics["numbers.big.sizeSum"]) == (10, 3, 24)


def test_sinks_that_cannot_be(spark: SparkSession) -> None:
    with pytest.raises(InvalidConfiguration, match="each_output without a sink"):
        snapline.each_output()
    with pytest.raises(InvalidConfiguration, match="no side output odd"):
        snapline.each_output(sides={ODD: lambda df, batch: None})(spark.range(1), 0)
