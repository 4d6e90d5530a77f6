"""Windows on streams of Spark, and what is refused of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import AggregateFunction, CheckpointConfig
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.testing.streams import SchemaStream
from snapline.window import (
    AllWindowFunction,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS = "k string, v long, t timestamp"
MINUTE = timedelta(minutes=1)
NOON = datetime(2024, 3, 1, 12)


class Values(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, sorted(row.v for row in elements)


class WithoutMerge(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator


class Own(Trigger):
    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    on_event_time = on_processing_time = lambda self, time, window, ctx: TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None: ...


class Async(ProcessWindowFunction):
    async def process(self, key: Any, context: Any, elements: Any) -> Any:  # type: ignore[override]
        return None


def stream(event_time: str | None = "t") -> Any:
    return SchemaStream(parse_schema(ROWS, "rows"), ["k"], event_time)


TUMBLING, SESSIONS = TumblingEventTimeWindows.of(MINUTE), EventTimeSessionWindows.with_gap(MINUTE)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: stream(None).window(TUMBLING), "goes by the time of the rows, and no column is that"),
        (lambda: stream().window(TumblingEventTimeWindows), "the class itself"),
        (lambda: stream().window(TUMBLING).trigger(CountTrigger), "the trigger"),
        (lambda: stream().window(TUMBLING).evictor(5), "the evictor"),
        (lambda: stream().window(SESSIONS).trigger(Own()), "whose windows merge"),
        (lambda: stream().window(SESSIONS).trigger(PurgingTrigger.of(Own())), "whose windows merge"),
        (lambda: stream().window(GlobalWindows()).sum("v"), "never fires"),
        (lambda: stream().window(TUMBLING).trigger(NeverTrigger()), "never fires"),
        (
            lambda: stream().window(GlobalWindows()).trigger(CountTrigger.of(2)).process(Values(), "k string"),
            "kept for ever",
        ),
        (
            lambda: (
                stream()
                .window(GlobalWindows())
                .trigger(ContinuousProcessingTimeTrigger.of(9))
                .process(Values(), "k string")
            ),
            "kept for ever",
        ),
        (
            lambda: (
                stream()
                .window(GlobalWindows())
                .trigger(CountTrigger.of(2))
                .evictor(DeltaEvictor.of(1, lambda a, b: 0))
                .reduce(lambda a, b: a)
            ),
            "with CountTrigger and DeltaEvictor: the window never ends",
        ),
        (lambda: stream().window(TUMBLING).allowed_lateness(-1), "the allowed lateness is -1 ms"),
        (
            lambda: stream().window(TumblingProcessingTimeWindows.of(MINUTE)).allowed_lateness(MINUTE),
            "do not go by the time of the rows",
        ),
        (
            lambda: stream().window(SESSIONS).aggregate(WithoutMerge(), output_type="n long", accumulator_type="long"),
            r"no merge\(\)",
        ),
        (
            lambda: stream().window(TUMBLING).aggregate(Values(), output_type="n long", accumulator_type="long"),
            "subclass",
        ),
        (lambda: stream().window(TUMBLING).aggregate(WithoutMerge(), accumulator_type="long"), "no output_type"),
        (lambda: stream().window(TUMBLING).reduce(5), "a reduce function 5"),
        (lambda: stream().window(TUMBLING).process(Values, "k string"), "the class itself"),
        (lambda: stream().window(TUMBLING).process(Async(), "k string"), "is an async function"),
        (lambda: stream().window(TUMBLING).sum("w"), "no column"),
        (lambda: stream().count_window(2).sum("v", with_window=True), "have no start and end"),
        (lambda: stream().count_window(0), "the size of a count window"),
    ],
)
def test_windows_that_cannot_be(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        build()


def test_what_bounds_the_state_of_a_global_window() -> None:
    windows = stream().window(GlobalWindows()).trigger(CountTrigger.of(2))
    windows.sum("v")
    windows.evictor(CountEvictor.of(5)).process(Values(), "k string, vs array<long>")
    stream().window(GlobalWindows()).trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Values(), "k string")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("windowed")
    yield session
    session.stop()


def minutes(*rows: tuple[str, int, int]) -> list[tuple[str, int, datetime]]:
    return [(key, value, NOON + minute * MINUTE) for key, value, minute in rows]


def test_a_bounded_table_fires_all_windows(spark: SparkSession) -> None:
    rows = spark.createDataFrame(minutes(("a", 1, 0), ("b", 2, 1), ("a", 3, 4), ("a", 4, 6)), ROWS)
    windows = snapline.key_by(rows, "k").window(TumblingEventTimeWindows.of(5 * MINUTE), event_time="t")
    found = windows.sum("v", with_window=True).select("k", "v", "window_start").collect()
    assert {tuple(row) for row in found} == {
        ("a", 4, NOON),
        ("b", 2, NOON),
        ("a", 4, NOON + 5 * MINUTE),
    }
    assert snapline.key_by(rows, "k").count_window(3).sum("v").select("k", "v").collect() == [("a", 8)]


class Everything(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Any:
        rows = list(elements)
        assert rows[0].__fields__ == ("k", "v", "t")
        yield context.window().end // 60_000 % 60, sorted(row.v for row in rows)


class Ends(AllWindowFunction):
    def apply(self, window: Any, inputs: Any) -> Any:
        return [(window.end // 60_000 % 60, len(list(inputs)))]


def test_windows_of_a_whole_stream(spark: SparkSession) -> None:
    rows = spark.createDataFrame(minutes(("a", 1, 0), ("b", 2, 1), ("a", 3, 4), ("a", 4, 6)), ROWS)
    windows = snapline.window_all(rows, TumblingEventTimeWindows.of(5 * MINUTE), event_time="t")
    found = windows.process(Everything(), "minute long, vs array<long>").collect()
    assert sorted(map(tuple, found)) == [(5, [1, 2, 3]), (10, [4])]
    assert sorted(map(tuple, windows.apply(Ends(), "minute long, n long").collect())) == [(5, 3), (10, 1)]
    summed = windows.sum("v", with_window=True)
    assert summed.columns == ["k", "v", "t", "window_start", "window_end"]
    assert sorted(row.v for row in summed.collect()) == [4, 6]
    count = windows.aggregate(WithoutMerge(), output_type="n long", accumulator_type="long")
    assert sorted(map(tuple, count.collect())) == [(1,), (3,)]
    with pytest.raises(InvalidConfiguration, match="ProcessAllWindowFunction or AllWindowFunction"):
        windows.process(Values(), "k string")  # type: ignore[arg-type]
    with pytest.raises(InvalidConfiguration, match="ProcessWindowFunction or WindowFunction"):
        stream().window(TUMBLING).process(Everything(), "k string")


BATCHES = [
    minutes(*[(f"k{i % 7}", i, i % 4) for i in range(40)]),
    minutes(*[(f"k{i % 7}", i, 3 + i % 4) for i in range(40)]),
    minutes(*[(f"k{i % 7}", i, 1 + i % 9) for i in range(40)]),
    minutes(("k0", 0, 60), ("k0", 0, 1)),
]


class Lives:
    """A query of windows with lateness and late rows, started anew for each two of its batches."""

    def __init__(self, spark: SparkSession, source: Path) -> None:
        self._spark = spark
        self._source = source
        self.found: list[tuple[Any, ...]] = []
        self.late: list[tuple[Any, ...]] = []

    def _collect(self, batch: DataFrame, _: int) -> None:
        batch.persist()
        self.found.extend(tuple(row) for row in snapline.main_output(batch).collect())
        self.late.extend(tuple(row) for row in snapline.side_output(batch, "late").collect())
        batch.unpersist()

    def run(self, checkpoint: Path, rows: list[Any], config: CheckpointConfig | None = None) -> Any:
        for part in (rows[::2], rows[1::2]):
            self._spark.createDataFrame(part, ROWS).coalesce(1).write.mode("append").parquet(str(self._source))
        reader = self._spark.readStream.schema(ROWS).option("maxFilesPerTrigger", 1)
        frame = reader.parquet(str(self._source)).withWatermark("t", "1 minute")
        windows = snapline.key_by(frame, "k").window(TumblingEventTimeWindows.of(2 * MINUTE))
        windows = windows.allowed_lateness(MINUTE).side_output_late_data("late")
        result = windows.process(Values(), "k string, vs array<long>")
        writer = result.writeStream.outputMode("append").option("checkpointLocation", str(checkpoint))
        writer = writer.foreachBatch(self._collect)
        if config is None:
            writer.trigger(availableNow=True).start().awaitTermination()
            return None
        query = snapline.start(writer, config)
        query.processAllAvailable()
        query.stop()
        return query

    @property
    def results(self) -> tuple[list[Any], list[Any]]:
        return sorted(self.found), sorted(self.late)


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[Any]]:
    """The results where each batch is durable."""
    folder = tmp_path_factory.mktemp("whole")
    lives = Lives(spark, folder / "source")
    for rows in BATCHES:
        lives.run(folder / "checkpoint", rows)
    assert len(lives.late) > 1
    assert sum(len(values) for _, values in lives.found) > 100
    return lives.results


def test_a_query_goes_on_at_another_parallelism(spark: SparkSession, tmp_path: Path, whole: Any) -> None:
    """State, timers and watermark of windows are in a savepoint, and rescaled with it."""
    savepoint, lives = tmp_path / "savepoint", Lives(spark, tmp_path / "source")
    for rows in BATCHES[:2]:
        lives.run(tmp_path / "first", rows)
    snapline.create_savepoint(spark, str(tmp_path / "first"), str(savepoint))
    snapline.restore_savepoint(spark, str(savepoint), str(tmp_path / "second"), parallelism=5)
    for rows in BATCHES[2:]:
        lives.run(tmp_path / "second", rows)
    assert lives.results == whole


def test_a_replay_makes_the_same_windows(spark: SparkSession, tmp_path: Path, whole: Any) -> None:
    """Under an interval that never ends each start runs the batches of the one before again, but its first."""
    lives, config = Lives(spark, tmp_path / "source"), CheckpointConfig(interval=timedelta(hours=1))
    queries = [lives.run(tmp_path / "checkpoint", rows, config) for rows in BATCHES]
    replayed = [len(query.recovery.replayed) for query in queries[1:]]
    assert min(replayed) >= 1
    assert sum(replayed) >= 4
    assert lives.results == whole


def test_the_state_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "source"
    spark.createDataFrame(minutes(("a", 1, 0), ("a", 2, 1)), ROWS).coalesce(1).write.parquet(str(source))
    frame = spark.readStream.schema(ROWS).parquet(str(source)).withWatermark("t", "1 minute")
    result = snapline.key_by(frame, "k").window(TumblingEventTimeWindows.of(5 * MINUTE)).sum("v")
    writer = result.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    state = spark.read.format("statestore").option("stateVarName", "window-contents").load(str(tmp_path / "checkpoint"))
    start = F.timestamp_millis(F.col("user_map_key.start"))
    row = state.select("key.k", start, "user_map_value.v").collect()
    assert [tuple(each) for each in row] == [("a", NOON, 3)]
