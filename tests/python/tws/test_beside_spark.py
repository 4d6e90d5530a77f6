"""The same processors in Spark's own operator and in ours: the rows of each micro-batch are the same."""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.errors import InvalidConfiguration

from ..spark_session import open_session
from . import processors
from .processors import Everything, Expiring, Frames

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
cloudpickle.register_pickle_by_value(processors)

NOON = datetime(2024, 3, 1, 12)
ROWS = "k string, n long, name string, at timestamp"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("transformWithState")
    yield session
    session.stop()


class Stream:
    """Rows that come in files, one a micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    @staticmethod
    def batches() -> Iterator[list[tuple[str, int, str, datetime]]]:
        for batch in range(4):
            yield [
                (f"k{(7 * i + batch) % 5}", i + batch, f"name{i % 3}", NOON + timedelta(seconds=20 * batch + i))
                for i in range(20)
            ]

    def rows(self) -> DataFrame:
        stream = self.spark.readStream.schema(ROWS).parquet(str(self.folder / "rows"))
        return stream.withWatermark("at", "5 seconds").withColumn("ms", F.unix_millis("at"))

    def run(self, name: str, result: DataFrame) -> dict[int, list[str]]:
        """The rows of each micro-batch, as texts.

        A run a file: in processing time Spark's operator asks for micro-batches for ever, also with availableNow.
        """
        shutil.rmtree(self.folder / "rows", ignore_errors=True)
        found: dict[int, list[str]] = defaultdict(list)

        def keep(df: DataFrame, batch: int) -> None:
            found[batch] += sorted(map(str, df.collect()))

        writer = result.writeStream.outputMode("update").foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(self.folder / name)).trigger(once=True)
        for rows in self.batches():
            df = self.spark.createDataFrame(rows, ROWS)
            df.coalesce(1).write.mode("append").parquet(str(self.folder / "rows"))
            writer.start().awaitTermination()
        return {batch: rows for batch, rows in found.items() if rows}


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    (tmp_path / "rows").mkdir()
    return Stream(spark, tmp_path)


def test_states_timers_and_initial_state_in_event_time(stream: Stream, spark: SparkSession) -> None:
    before = spark.createDataFrame(
        [("k1", 1000, ["gone", "name1"]), ("quiet", 7, [])], "k string, before long, names array<string>"
    )
    told: dict[str, Any] = {"outputStructType": Everything.OUTPUT, "outputMode": "Update", "timeMode": "EventTime"}
    grouped, initial = stream.rows().groupBy("k"), before.groupBy("k")
    theirs = stream.run("theirs", grouped.transformWithState(Everything(), initialState=initial, **told))
    ours = stream.run("ours", snapline.transform_with_state(grouped, Everything(), initialState=initial, **told))
    assert any("timer" in row for rows in ours.values() for row in rows)
    assert ours == theirs


def test_two_keys_time_to_live_and_names_in_another_order(stream: Stream) -> None:
    told: dict[str, Any] = {"outputStructType": Expiring.OUTPUT, "outputMode": "Append", "timeMode": "ProcessingTime"}
    rows = stream.rows().withColumn("a", F.col("n") % 3)
    theirs = stream.run("theirs", rows.groupBy("a", "k").transformWithState(Expiring(), **told))
    ours = stream.run("ours", snapline.transform_with_state(rows.groupBy("a", F.col("k")), Expiring(), **told))
    assert ours == theirs


def test_frames_of_pandas(stream: Stream, spark: SparkSession) -> None:
    pytest.importorskip("pandas")
    told: dict[str, Any] = {"outputStructType": Frames.OUTPUT, "outputMode": "Update", "timeMode": "None"}
    initial = spark.createDataFrame([("k1", 1000), ("k1", 7)], "k string, before long").groupBy("k")
    grouped = stream.rows().groupBy("k")
    theirs = stream.run("theirs", grouped.transformWithStateInPandas(Frames(), initialState=initial, **told))
    ours = stream.run("ours", snapline.transform_with_state_in_pandas(grouped, Frames(), initialState=initial, **told))
    assert ours == theirs


def test_calls_that_cannot_be(stream: Stream) -> None:
    rows = stream.rows()
    for grouped, mode, found in (
        (rows, "Update", "DataFrame"),
        (rows.groupBy(F.upper("k")), "Update", "make it a column"),
        (rows.groupBy("k"), "Complete", "the output mode 'Complete'"),
    ):
        with pytest.raises(InvalidConfiguration, match=found):
            snapline.transform_with_state(grouped, Frames(), Frames.OUTPUT, mode, "None")  # type: ignore[arg-type]
