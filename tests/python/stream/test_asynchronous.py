"""Asynchronous calls: without Spark, and with it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import snapline
from snapline import AsyncFunction, AsyncRetryStrategy
from snapline.errors import InvalidConfiguration
from snapline.functions.errors import FunctionFailed
from snapline.stream.asynchronous import async_function
from snapline.testing import Bounds, ProcessTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Doubled(AsyncFunction):
    """Later rows end earlier; counts how many calls there are at once."""

    def open(self, ctx: Any) -> None:
        self.now = self.most = 0
        ctx.get_metrics_group().gauge("most", lambda: self.most)

    async def async_invoke(self, value: Any) -> Any:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep((10 - value.v) / 500)
        self.now -= 1
        return [(value.v * 2,)] * (value.v % 3)


def harness(function: AsyncFunction, **options: Any) -> ProcessTestHarness:
    asked = {"timeout": 5_000, "capacity": 4, "ordered": True, "retry": None} | options
    return ProcessTestHarness(async_function(function, **asked), schema="v long", output="d long")


ROWS = [(v,) for v in range(10)]
EXPECTED = [v * 2 for v in range(10) for _ in range(v % 3)]


@pytest.mark.parametrize("capacity", [1, 4, 100])
def test_so_many_calls_are_under_way_at_once(capacity: int) -> None:
    calls = harness(Doubled(), capacity=capacity)
    assert [row.d for row in calls.process_batch(ROWS)] == EXPECTED
    assert calls.metrics["most"] == min(capacity, 10)


def test_without_order_rows_come_as_calls_end() -> None:
    found = [row.d for row in harness(Doubled(), capacity=100, ordered=False).process_batch(ROWS)]
    assert sorted(found) == EXPECTED
    assert found == sorted(found, reverse=True)


def test_chunks_follow_each_other() -> None:
    calls = ProcessTestHarness(
        async_function(Doubled(), 5_000, 4, True, None), schema="v long", output="d long", bounds=Bounds(chunk_rows=3)
    )
    assert [row.d for row in calls.process_batch(ROWS)] == EXPECTED


class Slow(AsyncFunction):
    """Never ends for 3; says which calls were cancelled."""

    cancelled: list[int] = []  # noqa: RUF012

    async def async_invoke(self, value: Any) -> Any:
        try:
            await asyncio.sleep(30 if value.v == 3 else 0)
        except asyncio.CancelledError:
            self.cancelled.append(value.v)
            raise
        return [(value.v,)]


class SlowButForgiven(Slow):
    def timeout(self, value: Any) -> Any:
        return [(-value.v,)]


def test_a_call_that_takes_too_long_is_cancelled() -> None:
    assert [row.d for row in harness(SlowButForgiven(), timeout=50).process_batch(ROWS[:5])] == [0, 1, 2, -3, 4]
    with pytest.raises(FunctionFailed, match=r"async_invoke of Slow raised TimeoutError: .* at row Row\(v=3\)"):
        harness(Slow(), timeout=50).process_batch(ROWS[:5])


class Refused(SlowButForgiven):
    """Its calls have a time limit of their own, which is over at once but for 3."""

    async def async_invoke(self, value: Any) -> Any:
        if value.v != 3:
            raise asyncio.TimeoutError("the service took too long")
        return await super().async_invoke(value)


def test_a_timeout_that_the_call_raises_is_not_that_of_the_row() -> None:
    with pytest.raises(FunctionFailed, match=r"raised TimeoutError: the service took too long at row Row\(v=0\)"):
        harness(Refused()).process_batch(ROWS[:1])
    assert harness(Refused(), timeout=50).process_batch(ROWS[3:4]) == [(-3,)]


class Unreliable(AsyncFunction):
    """Fails twice for each row, and has no result the third time."""

    def open(self, ctx: Any) -> None:
        self.calls: dict[int, int] = {}

    async def async_invoke(self, value: Any) -> Any:
        count = self.calls[value.v] = self.calls.get(value.v, 0) + 1
        if count <= 2:
            raise ConnectionError(f"call {count}")
        return [] if count == 3 else [(count,)]


def is_lost(error: Exception) -> bool:
    return isinstance(error, ConnectionError)


def test_calls_are_made_again() -> None:
    retry = AsyncRetryStrategy.fixed_delay(5, 1, result_predicate=lambda rows: not rows, exception_predicate=is_lost)
    assert [row.d for row in harness(Unreliable(), retry=retry).process_batch(ROWS[:3])] == [4, 4, 4]
    retry = AsyncRetryStrategy.exponential_backoff(2, 1, 4, 2, exception_predicate=is_lost)
    assert harness(Unreliable(), retry=retry).process_batch(ROWS[:3]) == []
    retry = AsyncRetryStrategy.fixed_delay(1, 1, exception_predicate=is_lost)
    with pytest.raises(FunctionFailed, match="raised ConnectionError: call 2 at row"):
        harness(Unreliable(), retry=retry).process_batch(ROWS[:3])
    retry = AsyncRetryStrategy.fixed_delay(100, 20, exception_predicate=is_lost)
    with pytest.raises(FunctionFailed, match="TimeoutError"):
        harness(Unreliable(), retry=retry, timeout=10).process_batch(ROWS[:1])


def test_a_failure_ends_the_calls_that_are_under_way() -> None:
    Slow.cancelled.clear()

    class Fails(Slow):
        async def async_invoke(self, value: Any) -> Any:
            if value.v == 4:
                raise ValueError("four")
            return await super().async_invoke(value)

    with pytest.raises(FunctionFailed, match=r"raised ValueError: four at row Row\(v=4\)"):
        harness(Fails(), capacity=10).process_batch(ROWS[:6])
    assert (
        AsyncRetryStrategy.exponential_backoff(9, 1, 5, 2, exception_predicate=is_lost).get_backoff_time_millis(9) == 5
    )


class Plain(AsyncFunction):
    def async_invoke(self, value: Any) -> Any: ...  # type: ignore[override]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: harness(Doubled), "the class itself"),  # type: ignore[arg-type]
        (lambda: harness(Plain()), "is no coroutine"),
        (lambda: harness(Doubled(), capacity=0), "a capacity of 0"),
        (lambda: harness(Doubled(), timeout=0), "the timeout is 0 ms"),
        (lambda: harness(Doubled(), retry=3), "the retry strategy 3"),
        (lambda: AsyncRetryStrategy.fixed_delay(3, 10), "retries nothing"),
        (lambda: AsyncRetryStrategy.fixed_delay(0, 10, exception_predicate=is_lost), "0 retries"),
    ],
)
def test_calls_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        make()


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("asynchronous")
    yield session
    session.stop()


def test_a_stream_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "source"
    spark.range(200).selectExpr("id v").repartition(3).write.parquet(str(source))
    rows = spark.readStream.schema("v long").parquet(str(source))
    found = snapline.async_process(rows, Echo(), "v long, twice long", timeout=5_000, capacity=50)
    query = found.writeStream.format("memory").queryName("asynchronous")
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert sorted(map(tuple, spark.table("asynchronous").collect())) == [(v, 2 * v) for v in range(200)]
    bounded = snapline.async_process(spark.range(4).selectExpr("id v"), Fails(), "v long", timeout=5_000)
    with pytest.raises(PythonException, match=r"async_invoke of Fails raised ValueError: not \d at row"):
        bounded.collect()


class Echo(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        await asyncio.sleep(0.001)
        return [(value.v, 2 * value.v)]


class Fails(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        raise ValueError(f"not {value.v}")
