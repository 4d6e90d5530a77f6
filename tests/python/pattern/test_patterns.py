"""Patterns as a user writes them: in the harness, in Spark, and those that cannot be."""

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
from snapline import OutputTag
from snapline.errors import IncompatibleState, InvalidConfiguration, SnaplineError
from snapline.pattern import AfterMatchSkipStrategy, Pattern, PatternProcessFunction, WithinType
from snapline.testing import KeyedTestHarness

from ..spark_session import open_session

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

NOON = datetime(2024, 3, 1, 12)
MINUTE = timedelta(minutes=1)
ROWS = "user string, kind string, amount long, at timestamp"
OUTPUT = "user string, amounts array<long>"
OPEN = OutputTag("open", "user string, begun long")


def at(minute: float) -> datetime:
    return NOON + minute * MINUTE


def small_then_large() -> Pattern:
    """A small payment, and then within ten minutes one ten times as large."""
    return (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda row: row.amount < 10)
        .followed_by("large")
        .where(lambda row, ctx: row.amount >= 10 * ctx.get_events_for_pattern("small")[0].amount)
        .within(10 * MINUTE)
    )


def amounts(match: Any) -> Any:
    rows = [row for stage in match.values() for row in stage]
    return rows[0].user, [row.amount for row in rows]


def harness_of(pattern: Pattern, **more: Any) -> KeyedTestHarness:
    return KeyedTestHarness.of_stream(
        lambda stream: stream.pattern(pattern).select(amounts, OUTPUT), key="user", schema=ROWS, **more
    )


def test_rows_are_taken_in_the_order_of_their_time_and_each_key_has_its_own() -> None:
    with harness_of(small_then_large(), event_time="at") as harness:
        harness.process_batch(
            [
                ("ann", "pay", 60, at(4)),
                ("ann", "pay", 5, at(1)),
                ("bob", "pay", 70, at(1)),
                ("bob", "pay", 7, at(2)),
                ("ann", "pay", 49, at(2)),
            ]
        )
        assert harness.output() == []
        assert harness.advance_watermark(at(5)) == [("ann", [5, 60])]
        # Late: bob's small payment is at 2, and the watermark at 5.
        harness.process_batch([("bob", "pay", 700, at(3)), ("bob", "pay", 71, at(11)), ("bob", "pay", 72, at(14))])
        assert harness.late_rows == 1
        assert harness.advance_watermark(at(30)) == [("bob", [7, 71])]
        assert harness.num_keys("pattern-matches") == harness.num_keys("pattern-events") == harness.num_timers() == 0


def test_in_processing_time_rows_are_taken_as_they_come() -> None:
    with harness_of(small_then_large()) as harness:
        harness.advance_processing_time(1000)
        assert harness.process_batch([("ann", "pay", 5, None), ("ann", "pay", 60, None)]) == [("ann", [5, 60])]
        assert harness.process_batch([("ann", "pay", 5, None)]) == []
        harness.advance_processing_time(1000 + 600_000)
        assert harness.process_batch([("ann", "pay", 60, None)]) == []
        assert harness.num_keys("pattern-matches") == 0


class Sessions(PatternProcessFunction):
    """A login and a logout; of those that stay, when they began."""

    def open(self, ctx: Any) -> None:
        self.ended = ctx.get_metrics_group().counter("ended")

    def process_match(self, match: Any, ctx: Any) -> Any:
        self.ended.inc()
        (login,), *_, (logout,) = match.values()
        yield ctx.get_current_key(), [login.amount, *(row.amount for row in match.get("clicks", [])), logout.amount]

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        ctx.output(OPEN, (match["login"][0].user, ctx.timestamp()))


def sessions() -> Pattern:
    return (
        Pattern.begin("login", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda row: row.kind == "login")
        .followed_by("clicks")
        .where(lambda row: row.kind == "click")
        .one_or_more()
        .greedy()
        .optional()
        .followed_by("logout")
        .where(lambda row: row.kind == "logout")
        .within(60 * MINUTE)
    )


def test_matches_whose_time_is_over_go_to_a_side_output() -> None:
    with KeyedTestHarness.of_stream(
        lambda stream: stream.pattern(sessions()).process(Sessions(), OUTPUT, side_outputs=[OPEN], late_output="late"),
        key="user",
        schema=ROWS,
        event_time="at",
    ) as harness:
        harness.process_batch([("ann", "login", 1, at(0)), ("ann", "click", 2, at(1)), ("bob", "login", 9, at(2))])
        harness.advance_watermark(at(10))
        harness.process_batch([("ann", "click", 3, at(11)), ("ann", "logout", 4, at(12)), ("bob", "click", 0, at(9))])
        found = harness.advance_watermark(at(70))
        assert found == [("ann", [1, 2, 3, 4])]
        assert harness.side_output(OPEN) == [("bob", int((at(62) - datetime(1970, 1, 1)).total_seconds() * 1000))]
        assert [row.user for row in harness.side_output("late")] == ["bob"]
        assert harness.metrics["ended"] == 1


def test_a_pattern_that_lost_the_stage_at_which_a_match_waits() -> None:
    with harness_of(sessions(), event_time="at") as harness:
        harness.process_batch([("ann", "login", 1, at(0))])
        harness.advance_watermark(at(1))
        snapshot = harness.snapshot()
    with harness_of(small_then_large(), event_time="at") as other:
        other.restore(snapshot)
        other.process_batch([("ann", "pay", 1, at(2))])
        with pytest.raises(
            IncompatibleState, match="waits at stage clicks:1, which the pattern does not have any more"
        ):
            other.advance_watermark(at(3))


def first(row: Any) -> Any:
    return row.kind == "a"


A = "a long"


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: Pattern.begin("a:b"), "a pattern named 'a:b'"),
        (lambda: Pattern.begin("a", "skip"), "the skip strategy 'skip'"),  # type: ignore[arg-type]
        (lambda: Pattern.begin("a").where(5), "the condition 5 of a"),
        (lambda: Pattern.begin("a").where(lambda: True), "give a function of a row"),
        (lambda: Pattern.begin("a").times(2).times(2), "a second count in stage a"),
        (lambda: Pattern.begin("a").times(3, 2), "a count from 3 to 2"),
        (lambda: Pattern.begin("a").greedy(), "greedy\\(\\) of one event"),
        (lambda: Pattern.begin("a").times(2).allow_combinations().greedy(), "beside allow_combinations"),
        (lambda: Pattern.begin("a").consecutive(), "order of one event"),
        (lambda: Pattern.begin("a").times(2).consecutive().allow_combinations(), "more than once"),
        (lambda: Pattern.begin("a").until(first), "ends by itself"),
        (lambda: Pattern.begin("a").optional().not_next("b"), "after a, which is optional"),
        (lambda: Pattern.begin("a").not_next("b").optional(), "of events that must not come"),
        (lambda: Pattern.begin("a").times(1, 2).greedy().next("b").optional(), "after a greedy stage"),
        (lambda: Pattern.begin("a").within(-1), "the time of a is -1 ms"),
    ],
)
def test_stages_that_cannot_be(make: Callable[[], Pattern], found: str) -> None:
    with pytest.raises(InvalidConfiguration, match=found):
        make()


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: "a", "the pattern 'a'"),
        (lambda: Pattern.begin("a").next("a"), "give each stage a name of its own"),
        (lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_last("x")), "a skip to x"),
        (lambda: Pattern.begin("a").not_followed_by("b"), "ends with b, which must not come, and without a time"),
        (lambda: Pattern.begin("a").next("b").one_or_more(), "a pattern without end: stage b"),
        (lambda: Pattern.begin("a").optional().next("b").optional(), "matches no event at all"),
        (
            lambda: Pattern.begin("a").next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).within(5),
            "more time between two events than for all",
        ),
    ],
)
def test_patterns_that_cannot_be(make: Callable[[], Any], found: str) -> None:
    with pytest.raises(InvalidConfiguration, match=found):
        harness_of(make())


def test_a_skip_to_an_event_that_a_match_lacks_may_be_an_error() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss()
    pattern = Pattern.begin("a", skip).where(first).next("b").where(lambda row: row.kind == "b").optional()
    with harness_of(pattern) as harness, pytest.raises(SnaplineError, match="an event of b, which has none"):
        harness.process_batch([("ann", "a", 1, None)])


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("patterns")
    yield session
    session.stop()


def test_a_query_over_restarts(spark: SparkSession, tmp_path: Path) -> None:
    found: list[tuple[Any, ...]] = []

    def keep(df: DataFrame, _: int) -> None:
        found.extend(sorted(tuple(row) for row in snapline.main_output(df).collect()))

    def run(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        spark.createDataFrame(list(rows), ROWS).coalesce(1).write.mode("append").parquet(str(tmp_path / "rows"))
        stream = spark.readStream.schema(ROWS).parquet(str(tmp_path / "rows")).withWatermark("at", "0 seconds")
        matches = snapline.key_by(stream, "user").pattern(sessions())
        writer = matches.process(Sessions(), OUTPUT, side_outputs=[OPEN]).writeStream.outputMode("append")
        writer = writer.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        try:
            return list(found)
        finally:
            found.clear()

    assert run(("ann", "login", 1, at(0)), ("bob", "login", 5, at(3)), ("ann", "click", 2, at(4))) == []
    assert run(("ann", "logout", 3, at(6)), ("bob", "logout", 7, at(7)), ("eve", "tick", 0, at(8))) == [
        ("ann", [1, 2, 3]),
        ("bob", [5, 7]),
    ]


def test_a_bounded_table(spark: SparkSession) -> None:
    rows = [("ann", "pay", 60, at(4)), ("ann", "pay", 5, at(1)), ("bob", "pay", 7, at(2)), ("bob", "pay", 70, at(13))]
    keyed = snapline.key_by(spark.createDataFrame(rows, ROWS), "user")
    result = keyed.pattern(small_then_large(), event_time="at").flat_select(lambda match: [amounts(match)] * 2, OUTPUT)
    assert [tuple(row) for row in result.collect()] == [("ann", [5, 60])] * 2
