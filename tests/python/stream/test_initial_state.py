"""A query that begins with the rows of a table: the harness, Spark, checkpoints at an interval, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline import (
    CheckpointConfig,
    CheckpointedFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    StateTtlConfig,
    TtlTime,
    ValueStateDescriptor,
)
from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

NOON = datetime(2024, 3, 1, 12)
HOUR = timedelta(hours=1)
ROWS = "k string, n long"
TIMED = f"{ROWS}, t timestamp"
BALANCES = "k string, balance long"
TIMED_BALANCES = f"{BALANCES}, t timestamp"
OUTPUT = "k string, total long"
SIDE = OutputTag("odd", "total long")


class Balance(KeyedProcessFunction):
    """Adds to a balance that may have been there before."""

    def open(self, ctx: Any) -> None:
        self.total = ctx.get_state(ValueStateDescriptor("total", "long"))

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        self.total.update((self.total.value() or 0) + row.balance)

    def process_element(self, row: Any, ctx: Any) -> Any:
        self.total.update((self.total.value() or 0) + row.n)
        yield row.k, self.total.value()


class WithSide(Balance):
    def process_element(self, row: Any, ctx: Any) -> Any:
        for k, total in super().process_element(row, ctx):
            if total % 2:
                yield SIDE, (total,)
            yield k, total


class Lapses(Balance):
    """Sets a timer for each key of the initial state."""

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        super().process_initial_state(row, ctx)
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + row.balance)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -self.total.value()


class LapsesInEventTime(Balance):
    """Sets a timer for each key of the initial state, at the time that its row names."""

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        super().process_initial_state(row, ctx)
        ctx.timer_service().register_event_time_timer(row.until)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -self.total.value()


class Expires(Balance):
    """A balance lives for an hour of event time."""

    def open(self, ctx: Any) -> None:
        ttl = StateTtlConfig(HOUR, time=TtlTime.EVENT_TIME)
        self.total = ctx.get_state(ValueStateDescriptor("total", "long", ttl=ttl))


class Collects(Balance, CheckpointedFunction):
    """Keeps what it has seen in operator state, and puts out the sum of that."""

    def initialize_state(self, ctx: Any) -> None:
        self.kept = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("kept", "long"))
        self.seen = list(self.kept.get()) if ctx.is_restored() else []

    def snapshot_state(self, ctx: Any) -> None:
        self.kept.update(self.seen)

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        self.seen.append(row.balance)

    def process_element(self, row: Any, ctx: Any) -> Any:
        self.seen.append(row.n)
        yield row.k, sum(self.seen)


def test_the_harness_begins_with_it() -> None:
    bounds = Bounds(chunk_rows=3, max_keys=2)
    with KeyedTestHarness(
        WithSide(), key="k", schema=ROWS, output=OUTPUT, side_outputs=[SIDE], bounds=bounds
    ) as harness:
        harness.process_initial_state([(f"k{i % 7}", i) for i in range(20)], schema=BALANCES)
        assert harness.output() == []
        assert harness.num_keys("total") == 7
        assert harness.process_batch([("k1", 1), ("new", 2)]) == [("k1", 1 + 8 + 15 + 1), ("new", 2)]
        assert harness.side_output(SIDE) == [(25,)]


def test_timers_of_it_fire_after_the_rows_of_the_first_micro_batch() -> None:
    with KeyedTestHarness(Lapses(), key="k", schema=ROWS, output=OUTPUT) as harness:
        harness.process_initial_state([("a", 0), ("b", 10)], schema=BALANCES)
        assert harness.num_timers() == 2
        assert harness.process_batch([("a", 4)]) == [("a", 4), ("a", -4)]
        assert harness.advance_processing_time(10) == [("b", -10)]


def test_event_time_timers_of_it_fire_by_the_watermark_of_the_rows() -> None:
    with KeyedTestHarness(LapsesInEventTime(), key="k", schema=TIMED, output=OUTPUT, event_time="t") as harness:
        begins = [("a", 10, NOON), ("quiet", 5, NOON - HOUR)]
        harness.process_initial_state(begins, schema=f"{BALANCES}, until timestamp")
        assert harness.process_batch([("a", 4, NOON)]) == [("a", 14)]
        assert harness.advance_watermark(NOON) == [("quiet", -5), ("a", -14)]


def test_state_lives_in_event_time_from_the_time_of_its_row() -> None:
    with KeyedTestHarness(Expires(), key="k", schema=TIMED, output=OUTPUT, event_time="t") as harness:
        with pytest.raises(InvalidConfiguration, match="no column t of the initial state is the time of a row"):
            harness.process_initial_state([("a", 10)], schema=BALANCES)
        begins = [("a", 10, NOON - HOUR / 2), ("b", 20, NOON - 2 * HOUR)]
        harness.process_initial_state(begins, schema=TIMED_BALANCES)
        assert harness.num_keys("total") == 2
        harness.advance_watermark(NOON)
        assert harness.num_keys("total") == 1
        assert harness.process_batch([("a", 1, NOON + HOUR), ("b", 1, NOON + HOUR)]) == [("a", 11), ("b", 1)]


def test_operator_state_goes_on_from_it() -> None:
    with KeyedTestHarness(Collects(), key="k", schema=ROWS, output=OUTPUT) as harness:
        harness.process_initial_state([("a", 10), ("b", 20)], schema=BALANCES)
        assert harness.state("kept") == [10, 20]
        assert harness.process_batch([("c", 1)]) == [("c", 31)]


class Yields(Balance):
    def process_initial_state(self, row: Any, ctx: Any) -> Any:
        yield row


class ByPlace(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_map_state(MapStateDescriptor("seen", "long", "long", entry="n"))

    def process_initial_state(self, row: Any, ctx: Any) -> None:
        self.seen[row.n] = 1

    def process_element(self, row: Any, ctx: Any) -> Any:
        self.seen[row.n] = self.seen.get(row.n, 0) + 1
        yield row.k, self.seen[row.n]


def test_a_map_state_by_entries_wants_their_column_there_too() -> None:
    with KeyedTestHarness(ByPlace(), key="k", schema=ROWS, output=OUTPUT) as harness:
        with pytest.raises(InvalidConfiguration, match="the entry of map state seen"):
            harness.process_initial_state([("a", 1)], schema=BALANCES)
        harness.process_initial_state([(5, "a")], schema="n long, account string", key="account")
        assert harness.process_batch([("a", 5), ("b", 5)]) == [("a", 2), ("b", 1)]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("initial state")
    yield session
    session.stop()


class Query:
    """Files of rows, a file a micro-batch, and what the query has put out."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self._files = 0

    def add(self, *rows: tuple[Any, ...], schema: str = ROWS) -> None:
        self._files += 1
        df = self.spark.createDataFrame(list(rows), schema)
        df.coalesce(1).write.parquet(str(self.folder / "rows" / f"n={self._files}"))

    def rows(self, schema: str = ROWS) -> DataFrame:
        stream = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return stream.parquet(str(self.folder / "rows" / "*"))

    def timed(self) -> DataFrame:
        return self.rows(TIMED).withWatermark("t", "0 seconds")

    def writer(self, result: DataFrame, found: list[tuple[Any, ...]]) -> Any:
        """Of a query that puts its rows into the list."""

        def keep(df: DataFrame, _: int) -> None:
            found.extend(sorted(tuple(row) for row in df.collect()))

        writer = result.writeStream.outputMode("update").foreachBatch(keep)
        return writer.option("checkpointLocation", str(self.folder / "checkpoint")).trigger(availableNow=True)

    def run(self, result: DataFrame) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        self.writer(result, found).start().awaitTermination()
        return found


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path)


def test_a_query_begins_with_it_once(query: Query, spark: SparkSession) -> None:
    balances = spark.createDataFrame([(10 * i, f"k{i}") for i in range(50)], "balance long, account string")
    balances.write.parquet(str(query.folder / "balances"))
    read = spark.read.parquet(str(query.folder / "balances"))

    def result() -> DataFrame:
        keyed = snapline.key_by(query.rows(), "k")
        return keyed.process(Balance(), OUTPUT, initial_state=snapline.key_by(read, "account"))

    query.add(("k1", 1), ("new", 1))
    query.add(("k1", 1), ("k49", 2))
    assert query.run(result()) == [("k1", 11), ("new", 1), ("k1", 12), ("k49", 492)]
    query.add(("k49", 1), ("k2", 1))
    assert query.run(result()) == [("k2", 21), ("k49", 493)]
    stored = spark.read.format("statestore").option("stateVarName", "total").load(str(query.folder / "checkpoint"))
    assert stored.count() == 51


def test_timers_of_it_fire_in_a_query(query: Query, spark: SparkSession) -> None:
    begins = snapline.key_by(spark.createDataFrame([("a", 0), ("quiet", -1)], BALANCES), "k")
    query.add(("a", 4))
    found = query.run(snapline.key_by(query.rows(), "k").process(Lapses(), OUTPUT, initial_state=begins))
    assert found == [("a", -4), ("a", 4), ("quiet", 1)]


def test_event_time_timers_of_it_fire_in_a_query(query: Query, spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", 10, NOON + 9 * HOUR), ("quiet", 5, NOON)], f"{BALANCES}, until timestamp")
    begins = snapline.key_by(table, "k")
    query.add(("a", 4, NOON), schema=TIMED)
    query.add(("a", 1, NOON + HOUR), schema=TIMED)
    found = query.run(snapline.key_by(query.timed(), "k").process(LapsesInEventTime(), OUTPUT, initial_state=begins))
    assert found == [("a", 14), ("a", 15), ("quiet", -5)]


def test_state_of_it_lives_in_event_time_in_a_query(query: Query, spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", 10, NOON - HOUR / 2), ("b", 20, NOON - 2 * HOUR)], TIMED_BALANCES)
    keyed = snapline.key_by(query.timed(), "k")
    query.add(("x", 1, NOON), schema=TIMED)
    query.add(("a", 1, NOON + HOUR), ("b", 1, NOON + HOUR), schema=TIMED)
    found = query.run(keyed.process(Expires(), OUTPUT, initial_state=snapline.key_by(table, "k")))
    assert found == [("x", 1), ("a", 11), ("b", 1)]
    with pytest.raises(InvalidConfiguration, match="no column t of the initial state is the time of a row"):
        keyed.process(Expires(), OUTPUT, initial_state=snapline.key_by(table.drop("t"), "k"))


def test_operator_state_goes_on_from_it_in_spark(query: Query, spark: SparkSession) -> None:
    begins = snapline.key_by(spark.createDataFrame([("a", 7)], BALANCES), "k")
    query.add(("a", 4))
    query.add(("a", 1))
    found = query.run(snapline.key_by(query.rows(), "k").process(Collects(), OUTPUT, initial_state=begins))
    assert found == [("a", 11), ("a", 12)]
    rows = spark.createDataFrame([("a", 4)], ROWS)
    bounded = snapline.key_by(rows, "k").process(Collects(), OUTPUT, initial_state=begins)
    assert [tuple(row) for row in bounded.collect()] == [("a", 11)]


def test_a_bounded_table_begins_with_it(spark: SparkSession) -> None:
    begins = snapline.key_by(spark.createDataFrame([("a", 7), ("b", 7)], BALANCES), "k")
    rows = spark.createDataFrame([("a", 4), ("c", 4)], ROWS)
    result = snapline.key_by(rows, "k").process(Balance(), OUTPUT, initial_state=begins)
    assert sorted(tuple(row) for row in result.collect()) == [("a", 11), ("c", 4)]


def test_the_same_table_may_be_rows_and_initial_state(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a", 4, 1), ("c", 4, 2)], "k string, n long, balance long")
    keyed = snapline.key_by(rows, "k")
    result = keyed.process(Balance(), OUTPUT, initial_state=keyed)
    assert sorted(tuple(row) for row in result.collect()) == [("a", 5), ("c", 6)]


def test_under_an_interval_the_first_micro_batch_takes_a_checkpoint(query: Query, spark: SparkSession) -> None:
    balances = query.folder / "balances"
    spark.createDataFrame([("a", 10)], BALANCES).write.parquet(str(balances))
    config = CheckpointConfig(interval=timedelta(hours=1))

    def run() -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
        begins = snapline.key_by(spark.read.schema(BALANCES).parquet(str(balances)), "k")
        result = snapline.key_by(query.rows(), "k").order_by("n").process(Balance(), OUTPUT, initial_state=begins)
        found: list[tuple[Any, ...]] = []
        started = snapline.start(query.writer(result, found), config)
        started.awaitTermination()
        return found, started.checkpoints()["counts"]

    query.add(("a", 1))
    query.add(("a", 2))
    found, counts = run()
    assert found == [("a", 11), ("a", 13)]
    assert counts["completed"] == 2, "one of the first micro-batch, one at the end"
    # The table is another one by now, and nobody reads it any more.
    spark.createDataFrame([("a", 1000)], BALANCES).write.mode("overwrite").parquet(str(balances))
    query.add(("a", 3))
    assert run()[0] == [("a", 16)]


def test_initial_states_that_cannot_be(query: Query, spark: SparkSession) -> None:
    query.add(("a", 1))
    keyed = snapline.key_by(query.rows(), "k")
    begins = snapline.key_by(spark.createDataFrame([("a", 1)], BALANCES), "k")

    class Plain(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Any: ...

    for function, state, found in (
        (Plain(), begins, "does not override process_initial_state"),
        (Yields(), begins, "process_initial_state yields rows"),
        (Balance(), keyed, "an initial state that is a stream"),
        (Balance(), begins._df, "the initial state DataFrame"),
        (Balance(), snapline.key_by(begins._df, "balance"), "keys of the types bigint, for rows by keys of the types"),
    ):
        with pytest.raises(InvalidConfiguration, match=found):
            keyed.process(function, OUTPUT, initial_state=state)  # type: ignore[arg-type]


def test_a_query_that_begins_with_a_savepoint_has_its_state_and_no_other(query: Query, spark: SparkSession) -> None:
    begins = snapline.key_by(spark.createDataFrame([("a", 10)], BALANCES), "k")

    def result() -> DataFrame:
        return snapline.key_by(query.rows(), "k").process(Balance(), OUTPUT, initial_state=begins)

    query.add(("a", 1))
    found: list[tuple[Any, ...]] = []
    started = snapline.start(query.writer(result(), found))
    started.awaitTermination()
    started.stop_with_savepoint(str(query.folder / "savepoint"))
    query.add(("a", 2))
    writer = query.writer(result(), found).option("checkpointLocation", str(query.folder / "other"))
    snapline.start(writer, from_savepoint=str(query.folder / "savepoint"), parallelism=3).awaitTermination()
    assert found == [("a", 11), ("a", 13)]
