"""Functions of two inputs: the harness, Spark, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    MapStateDescriptor,
    OutputTag,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.stream.two_inputs import Side, TwoInputs
from snapline.testing import Bounds, KeyedCoTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SIDE = OutputTag("side", "n int")
NOON = datetime(2024, 3, 1, 12)
MINUTE = timedelta(minutes=1)


def at(minute: int) -> datetime:
    return NOON + minute * MINUTE


class Counts(KeyedCoProcessFunction):
    """PyFlink's: one count for the rows of both inputs."""

    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", "int"))

    def process_element1(self, row: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return [(row[0], self.count.value())]

    process_element2 = process_element1


def test_pyflinks_keyed_co_process() -> None:
    rows = "name string, time int"
    with KeyedCoTestHarness(Counts(), keys=("name", "name"), schemas=(rows, rows), output="k string, n int") as harness:
        found = harness.process_batch([("a", 1), ("b", 2), ("c", 3)], [("b", 2), ("c", 3), ("d", 4)])
    assert sorted((k, n + 1) for k, n in found) == [("a", 2), ("b", 2), ("b", 3), ("c", 2), ("c", 3), ("d", 2)]


class CountsAside(KeyedCoProcessFunction):
    """PyFlink's: the inputs have other columns, and the counts go to a side output."""

    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_reducing_state(ReducingStateDescriptor("seen", lambda a, b: a + b, "int"))

    def process_element1(self, row: Any, ctx: Any) -> Any:
        self.seen.add(1)
        ctx.output(SIDE, (self.seen.get(),))
        yield ctx.get_current_key(), row.value

    def process_element2(self, row: Any, ctx: Any) -> Any:
        self.seen.add(1)
        ctx.output(SIDE, (self.seen.get(),))
        yield ctx.get_current_key(), row.number


def test_pyflinks_keyed_co_process_with_a_side_output() -> None:
    with KeyedCoTestHarness(
        CountsAside(),
        keys=("name", "of"),
        schemas=("name string, value int", "number int, of string"),
        output="k string, v int",
        side_outputs=[SIDE],
    ) as harness:
        found = harness.process_batch(
            [("a", 1), ("b", 2), ("a", 3), ("b", 4)], [(8, "a"), (7, "b"), (6, "a"), (5, "b")]
        )
        assert sorted(found) == sorted([("a", 1), ("a", 3), ("a", 6), ("a", 8), ("b", 2), ("b", 4), ("b", 5), ("b", 7)])
        assert sorted(row.n for row in harness.side_output(SIDE)) == [1, 1, 2, 2, 3, 3, 4, 4]


class Priced(KeyedCoProcessFunction):
    """Orders beside prices: an order waits for five minutes of event time for the first price of its item."""

    def open(self, ctx: Any) -> None:
        self.price = ctx.get_state(ValueStateDescriptor("price", "int"))
        self.waiting = ctx.get_map_state(MapStateDescriptor("waiting", "long", "string"))

    def process_element1(self, row: Any, ctx: Any) -> Any:
        price = self.price.value()
        if price is not None:
            yield row.item, row.order, price
        else:
            self.waiting[ctx.timestamp()] = row.order
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 300_000)

    def process_element2(self, row: Any, ctx: Any) -> Any:
        self.price.update(row.price)
        for time, order in sorted(self.waiting.items()):
            yield row.what, order, row.price
            del self.waiting[time]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        order = self.waiting.get(timestamp - 300_000)
        if order is not None:
            del self.waiting[timestamp - 300_000]
            yield ctx.get_current_key(), order, None


ORDERS, PRICES = "item string, order string, at timestamp", "since timestamp, what string, price int"
OUTPUT = "item string, order string, price int"
BATCHES: list[tuple[list[Any], list[Any]]] = [
    ([("pen", "o1", at(0)), ("cup", "o2", at(1))], [(at(0), "hat", 7)]),
    ([("pen", "o3", at(3)), ("hat", "o4", at(4))], [(at(4), "pen", 2)]),
    ([("pen", "o5", at(9)), (None, "o6", at(9))], [(at(9), "pen", None)]),
    ([("cup", "o7", at(20))], [(at(20), "cup", 3)]),
    ([("bag", "o8", at(40))], [(at(40), "bag", 9)]),
]


def in_harness() -> list[list[Any]]:
    results = []
    with KeyedCoTestHarness(
        Priced(),
        keys=("item", "what"),
        schemas=(ORDERS, PRICES),
        output=OUTPUT,
        event_times=("at", "since"),
        order_by=(["at", "order"], ["since"]),
        bounds=Bounds(chunk_rows=1, max_keys=1),
    ) as harness:
        for first, second in BATCHES:
            rows = harness.process_batch(first, second)
            mark = min(max(row[-1] for row in first), max(row[0] for row in second))
            results.append(sorted(map(tuple, [*rows, *harness.advance_watermark(mark - MINUTE)]), key=repr))
    return results


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("connected")
    yield session
    session.stop()


def test_the_lower_watermark_is_that_of_both(spark: SparkSession, tmp_path: Path) -> None:
    """Over restarts, and the same as in the harness."""
    found: list[Any] = []

    def collect(batch: DataFrame, _: int) -> None:
        found.extend(tuple(row) for row in batch.collect())

    results = []
    for first, second in BATCHES:
        for name, schema, rows in (("orders", ORDERS, first), ("prices", PRICES, second)):
            spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(str(tmp_path / name))
        orders = spark.readStream.schema(ORDERS).parquet(str(tmp_path / "orders")).withWatermark("at", "1 minute")
        prices = spark.readStream.schema(PRICES).parquet(str(tmp_path / "prices")).withWatermark("since", "1 minute")
        both = (
            snapline.key_by(orders, "item")
            .order_by("at", "order")
            .connect(snapline.key_by(prices, "what").order_by("since"))
        )
        writer = both.process(Priced(), OUTPUT, uid="priced").writeStream.outputMode("update")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(collect)
        query = writer.start()
        query.processAllAvailable()
        query.stop()
        results.append(sorted(found, key=repr))
        found.clear()
    assert results == in_harness()
    assert results[1] == [("hat", "o4", 7), ("pen", "o1", 2), ("pen", "o3", 2)]


class Names(CoMapFunction):
    def open(self, ctx: Any) -> None:
        self.rows = ctx.get_metrics_group().counter("rows")

    def map1(self, value: Any) -> Any:
        self.rows.inc()
        return (value.a + 1,)

    def map2(self, value: Any) -> Any:
        return (value.b * 10,) if value.b > 1 else None


class Twice(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        yield (value.a,)
        yield (value.a,)

    def flat_map2(self, value: Any) -> Any:
        return None


class Unkeyed(CoProcessFunction):
    def process_element1(self, row: Any, ctx: Any) -> Any:
        yield "first", row.a

    def process_element2(self, row: Any, ctx: Any) -> Any:
        yield "second", row.b


def test_bounded_tables_without_a_key(spark: SparkSession) -> None:
    first, second = spark.createDataFrame([(1,), (2,)], "a int"), spark.createDataFrame([(1,), (5,)], "b int")
    both = snapline.connect(first, second)
    assert sorted(row.n for row in both.map(Names(), "n int").collect()) == [2, 3, 50]
    assert sorted(row.n for row in both.flat_map(Twice(), "n int").collect()) == [1, 1, 2, 2]
    found = both.process(Unkeyed(), "of string, n int", parallelism=2).collect()
    assert sorted(map(tuple, found)) == [("first", 1), ("first", 2), ("second", 1), ("second", 5)]


def test_a_row_of_nulls_is_a_row_of_its_input(spark: SparkSession) -> None:
    first, second = (
        spark.createDataFrame([(None, 1)], "k int, a int"),
        spark.createDataFrame([(None, None)], "k int, b int"),
    )
    both = snapline.key_by(first, "k").connect(snapline.key_by(second, "k"))
    assert sorted(map(tuple, both.process(Sides(), "of string, k int").collect())) == [
        ("first", None),
        ("second", None),
    ]


class Sides(KeyedCoProcessFunction):
    def process_element1(self, row: Any, ctx: Any) -> Any:
        yield "first", ctx.get_current_key()

    def process_element2(self, row: Any, ctx: Any) -> Any:
        yield "second", ctx.get_current_key()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a, b: a.connect(snapline.key_by(b, "b")), "of the types string and bigint"),
        (lambda a, b: a.connect(snapline.key_by(b, "k", "b")), "of the types string and string, bigint"),
        (lambda a, b: a.connect(snapline.key_by(b, "k")).process(Unkeyed(), "n int"), "no KeyedCoProcessFunction"),
        (lambda a, b: a.connect(snapline.key_by(b, "k")).process(Sides, "n int"), "the class itself"),
        (lambda a, b: snapline.connect(b, b).map(Counting(), "n int"), "state n of a stream without a key"),  # type: ignore[attr-defined]
        (
            lambda a, b: a.connect(
                snapline.key_by(b.sparkSession.readStream.format("rate").load().selectExpr("'a' k"), "k")
            ).process(Sides(), "of string, k string"),
            "a stream connected to a bounded DataFrame",
        ),
        (lambda a, b: a.connect(b), "connect to DataFrame"),
    ],
)
def test_inputs_that_do_not_fit(make: Callable[[Any, Any], Any], message: str, spark: SparkSession) -> None:
    first, second = (spark.createDataFrame([("x", 1)], f"k string, {name} long") for name in "ab")
    with pytest.raises(InvalidConfiguration, match=message):
        make(snapline.key_by(first, "k"), second)


def test_both_have_a_time_or_neither() -> None:
    schemas = "k string, t timestamp", "k string, b long"
    with pytest.raises(InvalidConfiguration, match="the other has none"):
        TwoInputs(
            Side.of(parse_schema(schemas[0], "first"), ["k"], (), "t"),
            Side.of(parse_schema(schemas[1], "second"), ["k"], (), None),
        )


class Counting(CoMapFunction):
    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(ValueStateDescriptor("n", "int"))

    def map1(self, value: Any) -> Any: ...

    def map2(self, value: Any) -> Any: ...
