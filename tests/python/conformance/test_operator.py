"""What only a running query shows: errors, schema evolution, progress, the state reader, bounded tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from snapline import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
    key_by,
    main_output,
    side_output,
)

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Rows = list[tuple[Any, ...]]
LATE = OutputTag("odd", "v long")


class Query:
    """A query over files that is given one micro-batch after another."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str = "k long, v long") -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self.rows: Rows = []
        self.progress: Any = None
        (folder / "source").mkdir()

    def run(
        self,
        function: Callable[[], KeyedProcessFunction],
        output: str,
        *batches: Rows,
        mode: str = "update",
        order: tuple[str, ...] = (),
    ) -> Rows:
        stream = self.spark.readStream.schema(self.schema).parquet(str(self.folder / "source"))
        keyed = key_by(stream, "k")
        if order:
            keyed = keyed.order_by(*order)
        result = keyed.process(function(), output)
        self.rows = []
        query = (
            result.writeStream.outputMode(mode)
            .option("checkpointLocation", self.checkpoint)
            .foreachBatch(lambda df, _: self.rows.extend(map(tuple, df.collect())))
            .start()
        )
        try:
            for batch in batches or [[]]:
                if batch:
                    frame = self.spark.createDataFrame(batch, self.schema).coalesce(1)
                    frame.write.mode("append").parquet(str(self.folder / "source"))
                query.processAllAvailable()
            self.progress = query.lastProgress
            reports = [each for each in query.recentProgress if each.numInputRows]
            self.operators = [dict(each.stateOperators[0].customMetrics) for each in reports]
        finally:
            query.stop()
        return self.rows

    @property
    def checkpoint(self) -> str:
        return str(self.folder / "checkpoint")

    def state(self, name: str) -> DataFrame:
        return self.spark.read.format("statestore").option("path", self.checkpoint).option("stateVarName", name).load()


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> Query:
    return Query(spark, tmp_path)


def keeps(type_: str, value: Callable[[Any, Any], Any]) -> Callable[[], KeyedProcessFunction]:
    """A function with one state of a type, whose next value is made of the one before and the row's."""

    class Keeps(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.kept = ctx.get_state(ValueStateDescriptor("kept", type_))

        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            before = self.kept.value()
            self.kept.update(value(before, row.v))
            yield row.k, str(before)

    return Keeps


def test_an_exception_of_the_function_arrives_with_its_traceback_key_and_row(query: Query) -> None:
    class Fails(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            yield (1 // (row.v - 7),)

    with pytest.raises(StreamingQueryException) as raised:
        query.run(Fails, "x long", [(1, 5), (3, 7)])
    text = str(raised.value)
    assert "ZeroDivisionError" in text
    assert "yield (1 // (row.v - 7),)" in text
    assert "Row(k=3, v=7)" in text
    assert "SNAPLINE-FUNCTION" in text


def test_the_exception_arrives_though_rows_are_still_being_sent(spark: SparkSession) -> None:
    class Fails(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            raise LookupError("nothing here")

    table = spark.range(400_000).selectExpr("id as k", "repeat('x', 100) as v")
    for _ in range(3):
        with pytest.raises(PythonException, match="nothing here"):
            key_by(table, "k").process(Fails(), "k long").collect()


def test_output_that_does_not_fit_names_column_type_and_value(query: Query) -> None:
    class Wrong(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            yield row.k, "seven"

    with pytest.raises(StreamingQueryException, match=r"n[^\n]*(?:long|int64)[^\n]*seven|seven[^\n]*n"):
        query.run(Wrong, "k long, n long", [(1, 7)])


def test_fields_are_added_removed_and_widened(query: Query) -> None:
    first = keeps("struct<a:int,b:string,c:array<int>>", lambda before, v: (v, f"b{v}", [v]))
    query.run(first, "k long, before string", [(1, 10), (2, 20)])
    second = keeps("struct<b:string,a:bigint,c:array<bigint>,d:double>", lambda before, v: before)
    rows = query.run(second, "k long, before string", [(1, 11)])
    assert rows == [(1, "Row(b='b10', a=10, c=[10], d=None)")]
    # The other key was rewritten too, though no row touched it; and a third change builds on the second.
    state = {row.key.k: row.value for row in query.state("kept").collect()}
    assert state[2].asDict() == {"b": "b20", "a": 20, "c": [20], "d": None}
    third = keeps("struct<a:bigint>", lambda before, v: before)
    assert query.run(third, "k long, before string", [(2, 1)]) == [(2, "Row(a=20)")]
    assert query.run(third, "k long, before string", [(2, 1)]) == [(2, "Row(a=20)")]


def test_a_type_that_does_not_fit_is_refused_and_nothing_is_written(query: Query) -> None:
    query.run(keeps("struct<a:bigint,b:string>", lambda b, v: (v, "x")), "k long, before string", [(1, 10)])
    before = sorted(str(path) for path in Path(query.checkpoint, "state").rglob("*"))
    for other, said in [
        ("struct<a:int,b:string>", "kept.a: BIGINT -> INT"),
        ("struct<z:string>", "keeps no field"),
        ("string", "keeps no field"),
    ]:
        with pytest.raises(StreamingQueryException, match="SNAPLINE-INCOMPATIBLE") as raised:
            query.run(keeps(other, lambda b, v: None), "k long, before string", [(1, 11)])
        assert said in str(raised.value)
    assert sorted(str(path) for path in Path(query.checkpoint, "state").rglob("*")) == before
    again = keeps("struct<a:bigint,b:string>", lambda b, v: b)
    rows = query.run(again, "k long, before string")
    assert set(rows) == {(1, "Row(a=10, b='x')")}


class Counts(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, "long"))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", "long"))
        self.per = ctx.get_map_state(MapStateDescriptor("per", "string", "long"))
        self.rows = ctx.get_metrics_group().counter("rowsSeen")

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.total.add(row.v)
        self.seen.add(row.v)
        self.per[f"x{row.v}"] = row.v
        self.rows.inc()
        yield row.k, self.total.get()


def test_state_is_readable_and_shows_in_progress(query: Query) -> None:
    rows = query.run(Counts, "k long, n long", [(1, 5), (1, 6), (2, 7)], mode="append")
    assert sorted(rows) == [(1, 5), (1, 11), (2, 7)]
    totals = {row.key.k: row.value.value for row in query.state("total").collect()}
    assert totals == {1: 11, 2: 7}
    lists = {(row.key.k, row.list_element.value) for row in query.state("seen").collect()}
    assert lists == {(1, 5), (1, 6), (2, 7)}
    maps = {(row.key.k, row.user_map_key.value, row.user_map_value.value) for row in query.state("per").collect()}
    assert maps == {(1, "x5", 5), (1, "x6", 6), (2, "x7", 7)}
    assert [metrics["rowsSeen"] for metrics in query.operators] == [3]
    assert query.progress.stateOperators[0].operatorName == "transformWithStateInPySparkExec"


def test_timers_and_time_to_live_in_processing_time(spark: SparkSession, query: Query) -> None:
    class Expires(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            ttl = StateTtlConfig(timedelta(seconds=1))
            self.last = ctx.get_state(ValueStateDescriptor("last", "long", ttl=ttl))

        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            self.last.update(row.v)
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 2000)
            yield row.k, "row"

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
            yield ctx.get_current_key(), f"timer, last {self.last.value()}"

    stream = spark.readStream.schema(query.schema).parquet(str(query.folder / "source"))
    spark.createDataFrame([(1, 5)], query.schema).write.mode("append").parquet(str(query.folder / "source"))
    rows: Rows = []
    running = (
        key_by(stream, "k")
        .process(Expires(), "k long, what string")
        .writeStream.outputMode("append")
        .option("checkpointLocation", query.checkpoint)
        .foreachBatch(lambda df, _: rows.extend(map(tuple, df.collect())))
        .start()
    )
    try:
        # No more input comes: the batch that fires the timer is run for the timer's sake.
        deadline = time.monotonic() + 180
        while len(rows) < 2 and time.monotonic() < deadline:
            running.processAllAvailable()
            time.sleep(0.1)
    finally:
        running.stop()
    assert rows == [(1, "row"), (1, "timer, last None")]
    assert query.state("last").count() == 0


def test_order_by_fixes_the_order_of_a_keys_rows(query: Query) -> None:
    class Echo(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            yield row.k, row.v

    rows = query.run(Echo, "k long, v long", [(n % 3, (n * 37) % 101) for n in range(60)], order=("v",))
    for key in range(3):
        mine = [v for k, v in rows if k == key]
        assert mine == sorted(mine)
        assert len(mine) == 20


def test_several_keyed_and_built_in_operators_in_one_query(spark: SparkSession, query: Query) -> None:
    class Last(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.n = ctx.get_state(ValueStateDescriptor("n", "long"))

        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            self.n.update((self.n.value() or 0) + 1)
            yield row.k, self.n.value(), row.t

    source = str(query.folder / "source")
    stream = spark.readStream.schema("k long, t timestamp").parquet(source).withWatermark("t", "1 minute")
    first = key_by(stream, "k").process(Last(), "k long, n long, t timestamp")
    second = key_by(first.selectExpr("n as k", "t"), "k").process(Last(), "k long, n long, t timestamp")
    rows: Rows = []
    running = (
        second.groupBy("k")
        .agg({"n": "max"})
        .writeStream.outputMode("update")
        .option("checkpointLocation", query.checkpoint)
        .foreachBatch(lambda df, _: rows.extend(map(tuple, df.collect())))
        .start()
    )
    try:
        for batch in range(2):
            frame = spark.range(30).selectExpr("id % 3 as k", f"timestamp_seconds({batch * 600 + 1000} + id) as t")
            frame.coalesce(1).write.mode("append").parquet(source)
            running.processAllAvailable()
    finally:
        running.stop()
    # Each of the three keys counts to 10, then to 20: every count is seen three times.
    assert dict(rows) == dict.fromkeys(range(1, 21), 3)


def test_the_watermark_goes_on_to_a_window_behind_it(spark: SparkSession, query: Query) -> None:
    class Late(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            yield row.k, row.t

    source = str(query.folder / "source")
    stream = spark.readStream.schema("k long, t timestamp").parquet(source).withWatermark("t", "1 minute")
    out = key_by(stream, "k").process(Late(), "k long, at timestamp", output_event_time="at")
    rows: Rows = []
    running = (
        out.groupBy(F.window("at", "1 minute"))
        .count()
        .writeStream.outputMode("append")
        .option("checkpointLocation", query.checkpoint)
        .foreachBatch(lambda df, _: rows.extend((row.window.start.minute, row["count"]) for row in df.collect()))
        .start()
    )
    try:
        for minute in (1, 2, 9):
            frame = spark.range(5).selectExpr("id as k", f"timestamp_seconds({minute} * 60 + id) as t")
            frame.coalesce(1).write.mode("append").parquet(source)
            running.processAllAvailable()
    finally:
        running.stop()
    # A window is put out when the watermark has passed its end; that of the ninth minute waits.
    assert sorted(rows) == [(1, 5), (2, 5)]


def test_a_bounded_table_ends_with_all_its_timers(spark: SparkSession) -> None:
    class Ends(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.n = ctx.get_state(ValueStateDescriptor("n", "long"))

        def process_element(self, row: Any, ctx: Any) -> None:
            self.n.update((self.n.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(10**13)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
            yield ctx.get_current_key(), self.n.value()

    table = spark.range(1000).selectExpr("id % 7 as k", "id as v")
    rows = key_by(table, "k").process(Ends(), "k long, n long").collect()
    assert sorted(map(tuple, rows)) == [(k, len(range(k, 1000, 7))) for k in range(7)]


def test_timers_that_a_callback_sets_at_that_end_are_dropped(spark: SparkSession) -> None:
    class Again(KeyedProcessFunction):
        fired = 0

        def process_element(self, row: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(row.v)
            ctx.timer_service().register_processing_time_timer(row.v)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
            self.fired += 1
            assert self.fired < 9, "they go on for ever"
            timers = ctx.timer_service()
            timers.register_event_time_timer(timestamp + 3_600_000)
            timers.register_processing_time_timer(timers.current_processing_time() + 1000)
            yield ctx.get_current_key(), ctx.time_domain(), timestamp

    table = spark.range(2).selectExpr("id as k", "id + 5 as v")
    found = key_by(table, "k").process(Again(), "k long, domain string, at long").collect()
    assert sorted(map(tuple, found)) == [(k, domain, k + 5) for k in range(2) for domain in ("event", "processing")]


def test_side_outputs_are_columns_of_the_result(spark: SparkSession) -> None:
    class Splits(KeyedProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
            if row.v % 2:
                ctx.output(LATE, (row.v,))
            else:
                yield row.k, row.v

    table = spark.range(10).selectExpr("id % 2 as k", "id as v")
    result = key_by(table, "k").process(Splits(), "k long, v long", side_outputs=[LATE])
    assert sorted(row.v for row in side_output(result, LATE).collect()) == [1, 3, 5, 7, 9]
    assert sorted(row.v for row in main_output(result).collect()) == [0, 2, 4, 6, 8]


def test_arrow_over_more_rows_than_a_chunk_holds(spark: SparkSession) -> None:
    class Sums(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            ctx.get_state(ValueStateDescriptor("sum", "long"))

        def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
            sums = state.value("sum").to_pylist()
            for at, v in zip(state.key_index.tolist(), batch.column("v").to_pylist(), strict=True):
                sums[at] = (sums[at] or 0) + v
            state.update("sum", pa.array(sums, pa.int64()))
            return pa.record_batch([state.keys.column(0), pa.array(sums, pa.int64())], names=["k", "sum"])

    spark.conf.set("spark.snapline.python.arrow.chunk-rows", 50)
    try:
        table = spark.range(1000).selectExpr("id % 7 as k", "id as v")
        rows = key_by(table, "k").process(Sums(), "k long, sum long").collect()
    finally:
        spark.conf.unset("spark.snapline.python.arrow.chunk-rows")
    last = {row.k: row.sum for row in rows}
    assert last == {k: sum(range(k, 1000, 7)) for k in range(7)}
