"""Functions of a client of Spark Connect do what they do in a classic session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import snapline
from integration.connect import sums
from integration.connect.sums import Sum
from snapline import main_output, side_output
from snapline.errors import InvalidConfiguration, WrongSparkVersion
from tests.python.conformance import functions, windows
from tests.python.conformance.runs import in_harness, in_spark
from tests.python.conformance.scenario import Scenario
from tests.python.conformance.scenarios import SCENARIOS

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(functions)
cloudpickle.register_pickle_by_value(windows)
cloudpickle.register_pickle_by_value(sums)
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def rows_of(spark: SparkSession) -> DataFrame:
    return spark.range(100).selectExpr("id % 3 AS k", "id AS v")


def test_a_bounded_table(spark: SparkSession) -> None:
    totals = snapline.key_by(rows_of(spark), "k").order_by("v").process(Sum(), "k long, total long")
    newest = {row.k: row.total for row in totals.groupBy("k").max("total").toDF("k", "total").collect()}
    assert newest == {k: sum(range(k, 100, 3)) for k in range(3)}


def test_it_goes_on_as_any_data_frame(spark: SparkSession) -> None:
    totals = snapline.key_by(rows_of(spark), "k").process(Sum(), "k long, total long")
    assert totals.columns == ["k", "total"]
    assert totals.where(totals["total"] < 0).count() == 0
    again = snapline.key_by(totals.selectExpr("k", "total AS v"), "k").process(Sum(), "k long, total long")
    assert again.count() == 100


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_as_the_harness(scenario: Scenario, spark: SparkSession, tmp_path: Path) -> None:
    expected, expected_sides = in_harness(scenario)
    found, found_sides = in_spark(scenario, spark, tmp_path, InFiles(spark, tmp_path / "kept"))
    assert found == expected
    assert found_sides == expected_sides


class InFiles:
    """A function of ``foreachBatch`` runs beside the server."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.taken: dict[str | None, int] = {}
        folder.mkdir()

    def writer(self) -> Callable[[DataFrame, int], None]:
        place = str(self.folder)

        def keep(batch: DataFrame, number: int) -> None:
            batch.write.parquet(f"{place}/{number:04}")

        return keep

    def take(self, tag: str | None) -> list[Any]:
        new = sorted(self.folder.iterdir())[self.taken.get(tag, 0) :]
        self.taken[tag] = self.taken.get(tag, 0) + len(new)
        batches = [self.spark.read.parquet(str(each)) for each in new]
        outputs = [main_output(each) if tag is None else side_output(each, tag) for each in batches]
        return [row for each in outputs for row in each.collect()]


def test_an_initial_state(spark: SparkSession) -> None:
    class Begins(Sum):
        def process_initial_state(self, row: Any, ctx: Any) -> None:
            self.total.update(row.total)

    begins = spark.createDataFrame([(0, 1000)], "k long, total long")
    keyed = snapline.key_by(rows_of(spark), "k").order_by("v")
    found = keyed.process(Begins(), "k long, total long", initial_state=snapline.key_by(begins, "k"))
    assert found.where("k = 0").agg({"total": "max"}).collect()[0][0] == 1000 + sum(range(0, 100, 3))


def test_errors_come_from_the_call(spark: SparkSession) -> None:
    with pytest.raises(InvalidConfiguration, match="key_by by nothing, which is no column"):
        snapline.key_by(rows_of(spark), "nothing")
    late = spark.readStream.format("rate").load().selectExpr("value AS k", "value AS v", "timestamp AS t")
    with pytest.raises(InvalidConfiguration, match="no row would ever be late"):
        snapline.key_by(late, "k").process(Sum(), "k long, total long", late_output="late", event_time="t")


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("snapline.remote.message.__version__", "0.0.1", WrongSparkVersion, r"The client has Snapline 0\.0\.1"),
        # As a server answers that has no plug-in for it.
        (
            "snapline.stream.connect_relation.FUNCTION",
            "type.googleapis.com/snapline.Unknown",
            InvalidConfiguration,
            "knows no functions of Snapline",
        ),
    ],
)
def test_a_server_that_has_not_the_same_snapline(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str, value: str, error: type[Exception], text: str
) -> None:
    monkeypatch.setattr(name, value)
    keyed = snapline.key_by(rows_of(spark), "k")
    with pytest.raises(error, match=text):
        keyed.process(Sum(), "k long, total long")


def test_a_query_without_supervision_has_durable_batches(spark: SparkSession, tmp_path: Path) -> None:
    rows_of(spark).write.parquet(str(tmp_path / "rows"))
    rows = spark.readStream.schema("k long, v long").parquet(str(tmp_path / "rows"))
    totals = snapline.key_by(rows, "k").process(Sum(), "k long, total long")
    writer = totals.writeStream.outputMode("update").format("noop").option("checkpointLocation", str(tmp_path / "c"))
    query = writer.start()
    try:
        query.processAllAvailable()
        assert query.lastProgress is not None
        (state,) = query.lastProgress["stateOperators"]
        assert "snaplineChangelogBytes" in state["customMetrics"]
    finally:
        query.stop()
    assert list((tmp_path / "c" / "state").rglob("*.changelog"))
