"""Time stamps that ``process_arrow`` gives to states and outputs: naive ones are in the session's time zone."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from snapline import KeyedProcessFunction, MapStateDescriptor, ValueStateDescriptor
from snapline.functions.zoned import converted
from snapline.testing import KeyedTestHarness

NOON = datetime(2024, 1, 1, 12)
SUMMER = datetime(2024, 7, 1, 12)
ZONE = "America/New_York"
NAIVE, ZONED = pa.timestamp("us"), pa.timestamp("us", ZONE)
NESTED = "struct<at: timestamp, all: array<timestamp>, by: map<string, timestamp>>"
GIVEN = pa.struct([("by", pa.map_(pa.string(), NAIVE)), ("at", pa.timestamp("ns")), ("all", pa.list_(NAIVE))])
WANTED = pa.struct([("at", ZONED), ("all", pa.list_(ZONED)), ("by", pa.map_(pa.string(), ZONED))])
ROW = {"at": NOON, "all": [SUMMER, None, NOON], "by": [("x", NOON), ("y", None)]}


class Seen(KeyedProcessFunction):
    """Gives one value for each key."""

    def __init__(self, kind: str, values: Any) -> None:
        self.kind, self.values = kind, values

    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_state(ValueStateDescriptor[Any]("seen", self.kind))
        ctx.get_map_state(MapStateDescriptor[Any, Any]("entries", "long", self.kind, entry="e"))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> None:
        state.update("seen", self.values)
        state.update_entries("entries", self.values)
        state.register_processing_time_timers(pa.array([0] * len(state.keys)))

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), str(self.seen.value())


def run(kind: str, values: Any, zone: str = ZONE) -> tuple[list[Any], list[Any], list[Any]]:
    """What the state has for two keys, the same in a map, and what a timer sees."""
    function = Seen(kind, values)
    with KeyedTestHarness(
        function, key="k", schema="k long, e long", output="k long, at string", time_zone=zone
    ) as harness:
        shown = harness.process_batch([(0, 7), (1, 7)])
        values = [harness.state("seen", k) for k in (0, 1)]
        return values, [(harness.state("entries", k) or {}).get(7) for k in (0, 1)], [row.at for row in shown]


@pytest.mark.parametrize("zone", [ZONE, "+05:30", "UTC"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([NOON, SUMMER]),
        pa.array([NOON, SUMMER], pa.timestamp("ns")),
        pa.chunked_array([[NOON], [SUMMER]]),
        pa.array([NOON, SUMMER]).dictionary_encode(),
        [NOON, SUMMER],
        (NOON, SUMMER),
    ],
)
def test_naive_time_stamps_are_in_the_time_zone_of_the_session(values: Any, zone: str) -> None:
    times = [NOON, SUMMER]
    assert run("timestamp", values, zone) == (times, times, list(map(str, times)))


def test_of_a_data_frame_too() -> None:
    pd = pytest.importorskip("pandas")
    assert run("timestamp", pd.Series([NOON, SUMMER]))[0] == [NOON, SUMMER]
    assert run("timestamp", [pd.Timestamp(NOON), pd.NaT])[0] == [NOON, None]


def test_a_day_begins_in_the_time_zone_of_the_session() -> None:
    assert run("timestamp", pa.array([date(2024, 1, 1), None]))[0] == [datetime(2024, 1, 1), None]


def test_what_has_a_time_zone_stays_the_instant_it_is() -> None:
    utc = NOON.replace(tzinfo=timezone.utc)
    morning = datetime(2024, 1, 1, 7)
    assert run("timestamp", pa.array([utc, None]))[0] == [morning, None]
    assert run("timestamp", [NOON, utc])[0] == [NOON, morning]
    assert run("timestamp_ntz", pa.array([NOON, SUMMER]))[0] == [NOON, SUMMER]


def test_a_list_has_both_halves_of_a_doubled_hour() -> None:
    first = datetime(2024, 11, 3, 1, 30)
    found, _, _ = run("timestamp", [first, first.replace(fold=1)])
    assert [(time, time.fold) for time in found] == [(first, 0), (first, 1)]


def test_time_stamps_inside_values() -> None:
    found, entries, _ = run(NESTED, pa.array([ROW, {**ROW, "all": None}], GIVEN))
    assert found == [(NOON, [SUMMER, None, NOON], {"x": NOON, "y": None}), (NOON, None, {"x": NOON, "y": None})]
    assert entries == found
    assert run("array<timestamp>", [[NOON], [None, SUMMER]])[0] == [[NOON], [None, SUMMER]]


def test_columns_that_are_parts_of_others() -> None:
    rows = [ROW, None, {**ROW, "by": None}, {**ROW, "at": None}]
    column = pa.array(rows, GIVEN)
    whole = converted(column, WANTED)
    whole.validate(full=True)
    assert [each and each["at"] and each["at"].replace(tzinfo=None) for each in whole.to_pylist()] == [
        NOON,
        None,
        NOON,
        None,
    ]
    for first, last in ((1, 4), (2, 3), (1, 1)):
        part = converted(column[first:last], WANTED)
        part.validate(full=True)
        assert part.equals(whole[first:last])
    lists = pa.array([[row] if row else None for row in rows], pa.list_(GIVEN))
    assert converted(lists[1:], pa.list_(WANTED)).flatten().equals(whole[2:])


def test_an_output_has_them_inside_values_too() -> None:
    class Puts(KeyedProcessFunction):
        def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
            return pa.table({"at": [NOON], "nested": pa.array([ROW], GIVEN)})

    output = f"at timestamp, nested {NESTED}"
    with KeyedTestHarness(Puts(), key="k", schema="k long", output=output, time_zone=ZONE) as harness:
        (row,) = harness.process_batch([(1,)])
    assert row == (NOON, (NOON, [SUMMER, None, NOON], {"x": NOON, "y": None}))
