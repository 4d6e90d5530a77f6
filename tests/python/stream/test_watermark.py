"""Functions that wait for event time, in streams with and without a watermark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline.errors import InvalidConfiguration

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("watermark")
    yield session
    session.stop()


class Echo(snapline.KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        return [(row.value,)]


class Kept(Echo):
    """Keeps a value that expires in event time."""

    def open(self, ctx: Any) -> None:
        ttl = snapline.StateTtlConfig(timedelta(hours=1), time=snapline.TtlTime.EVENT_TIME)
        ctx.get_state(snapline.ValueStateDescriptor("seen", "long", ttl=ttl))


def rates(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


def processed(rows: DataFrame, function: Any, **more: Any) -> DataFrame:
    return snapline.key_by(rows, "value").process(function, "value long", event_time="timestamp", **more)


WAITING = [
    pytest.param(Echo, {"late_output": "late"}, "output late for late rows", id="late output"),
    pytest.param(Kept, {}, "State seen lives in event time", id="event-time TTL"),
]


@pytest.mark.parametrize(("function", "options", "message"), WAITING)
def test_a_stream_without_a_watermark_is_refused(
    spark: SparkSession, function: Any, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidConfiguration, match=f"{message}.*no watermark.*withWatermark"):
        processed(rates(spark), function(), **options)


@pytest.mark.parametrize(("function", "options", "message"), WAITING)
def test_a_stream_with_a_watermark_and_rows_that_end_are_processed(
    spark: SparkSession, function: Any, options: dict[str, str], message: str
) -> None:
    assert processed(rates(spark).withWatermark("timestamp", "1 minute"), function(), **options).isStreaming
    rows = spark.range(3).selectExpr("id AS value", "timestamp '2013-01-01' AS timestamp")
    assert sorted(row.value for row in processed(rows, function(), **options).collect()) == [0, 1, 2]
