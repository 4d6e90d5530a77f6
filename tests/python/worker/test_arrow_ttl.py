"""The time to live of states that ``process_arrow`` has as columns: each value has its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from snapline import (
    KeyedProcessFunction,
    MapStateDescriptor,
    StateTtlConfig,
    StateVisibility,
    TtlTime,
    UpdateType,
    ValueStateDescriptor,
)
from snapline.state.cursor import BEFORE_ALL, NEVER, BatchTime, Cursor, TtlClock
from snapline.testing import Bounds, KeyedTestHarness

SCHEMA = "k string, e long, what string, at timestamp"
TEN = datetime(2020, 1, 1, 10)
HOUR = timedelta(hours=1)


class Columns(KeyedProcessFunction):
    """Writes 7 into a value and an entry of each row, shows both, or does neither; all rows of a chunk say the same."""

    def __init__(self, ttl: StateTtlConfig) -> None:
        self._ttl = ttl

    def open(self, ctx: Any) -> None:
        ctx.get_state(ValueStateDescriptor("value", "long", ttl=self._ttl))
        ctx.get_map_state(MapStateDescriptor("map", "long", "long", entry="e", ttl=self._ttl))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> Iterator[Any]:
        what = batch.column("what")[0].as_py()
        if what == "write":
            state.update("value", [7] * len(state.keys))
            state.update_entries("map", [7] * len(state.entries("map")))
        elif what == "read":
            shown = state.value("value")
            assert state.entries("map").equals(shown), "each key has one entry"
            yield pa.table({"k": state.keys.column("k"), "n": shown})


def harness(ttl: StateTtlConfig, **more: Any) -> KeyedTestHarness:
    return KeyedTestHarness(Columns(ttl), key="k", schema=SCHEMA, output="k string, n long", **more)


def row(key: str, what: str, *, entry: int = 1, at: datetime | None = TEN) -> tuple[Any, ...]:
    return key, entry, what, at


def test_each_value_lives_from_its_own_latest_row() -> None:
    ttl = StateTtlConfig(HOUR, time=TtlTime.EVENT_TIME)
    with harness(ttl, event_time="at") as run:
        late = TEN + timedelta(hours=5)
        rows = [row("a", "write"), row("b", "write", at=late), row("b", "write", entry=2), row("c", "write", at=None)]
        run.process_batch(rows)
        assert [run.state("value", key) for key in "abc"] == [7, 7, 7]
        run.advance_watermark(TEN + HOUR)
        assert [run.state("value", key) for key in "abc"] == [None, 7, None]
        assert [run.state("map", key) for key in "abc"] == [None, {1: 7}, None]
        run.advance_watermark(late + HOUR)
        assert run.num_keys("value") == run.num_keys("map") == 0


@pytest.mark.parametrize("update_type", list(UpdateType))
def test_an_expired_value_is_shown_once(update_type: UpdateType) -> None:
    visibility = StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP
    ttl = StateTtlConfig(timedelta(seconds=10), update_type=update_type, visibility=visibility)
    with harness(ttl, bounds=Bounds(chunk_rows=1)) as run:
        run.process_batch([row("a", "write")])
        run.set_times(processing=9_000)
        assert run.process_batch([row("a", "read")]) == [("a", 7)]
        run.set_times(processing=19_000 if update_type is UpdateType.ON_READ_AND_WRITE else 10_000)
        assert run.process_batch([row("a", "read"), row("a", "read")]) == [("a", 7), ("a", None)]
        assert run.state("value", "a") is None
        assert run.state("map", "a") is None


def test_reading_begins_the_time_anew_and_nothing_else_does() -> None:
    ttl = StateTtlConfig(timedelta(seconds=10), update_type=UpdateType.ON_READ_AND_WRITE)
    with harness(ttl) as run:
        run.process_batch([row("a", "write"), row("b", "write")])
        run.set_times(processing=9_000)
        assert run.process_batch([row("a", "read")]) == [("a", 7)]
        run.process_batch([row("b", "neither")])
        run.advance_processing_time(10_000)
        assert [run.state("value", key) for key in "ab"] == [7, None]
        assert [run.state("map", key) for key in "ab"] == [{1: 7}, None]
        run.advance_processing_time(19_000)
        assert run.num_keys("value") == run.num_keys("map") == 0


@pytest.mark.parametrize("time", list(TtlTime))
@pytest.mark.parametrize(
    "batch", [BatchTime(50, None), BatchTime(50, 30), BatchTime(50, NEVER, True)], ids=["no", "watermark", "bounded"]
)
def test_many_expiries_are_those_of_each(time: TtlTime, batch: BatchTime) -> None:
    cursor = Cursor()
    clock = TtlClock(StateTtlConfig(timedelta(milliseconds=10), time=time), batch, cursor)
    times = [None, 0, 29, 30, 31, 99]
    expected = []
    for cursor.timestamp in times:
        expected.append(clock.expiry())
    found = clock.expiries(np.array([BEFORE_ALL if each is None else each for each in times], np.int64))
    assert found.tolist() == expected
