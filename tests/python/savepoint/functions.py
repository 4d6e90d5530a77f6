"""Functions whose state the savepoint tests carry about; every kind of state, timer and time to live."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from snapline import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    TtlTime,
    ValueStateDescriptor,
)

MINUTE = timedelta(minutes=1)
RESULT = "k long, total long, n long, last long, buckets long, fired boolean"


class Kept(KeyedProcessFunction):
    """Sums, remembers, and wakes up two minutes later."""

    def open(self, ctx: Any) -> None:
        ttl = StateTtlConfig(3 * MINUTE, time=TtlTime.EVENT_TIME)
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, "long"))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", "struct<v: long, t: timestamp>"))
        self.last = ctx.get_state(ValueStateDescriptor("last", "long", ttl=ttl))
        self.per = ctx.get_map_state(MapStateDescriptor("per", "string", "long", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.total.add(row.v)
        self.seen.add((row.v, row.t))
        before = self.last.value()
        self.last.update(row.v)
        bucket = f"b{row.v % 3}"
        self.per[bucket] = self.per.get(bucket, 0) + 1
        ctx.timer_service().register_event_time_timer(row.t + 2 * MINUTE)
        yield self._result(row.k, before, fired=False)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield self._result(ctx.get_current_key(), self.last.value(), fired=True)

    def _result(self, key: int, last: int | None, *, fired: bool) -> tuple[Any, ...]:
        seen = [each.v for each in self.seen.get()]
        # The order of a list is part of it.
        ordered = sum((place + 1) * v for place, v in enumerate(seen))
        return key, self.total.get(), ordered, last, sum(self.per.values()), fired


class Processor(StatefulProcessor):
    """The like on Spark's transformWithState."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", "total long")
        self.seen = handle.getListState("seen", "v long")
        self.per = handle.getMapState("per", "bucket string", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        values = sorted(row["v"] for row in rows)
        known = self.total.get()
        self.total.update(((known[0] if known else 0) + sum(values),))
        self.seen.appendList([(v,) for v in values])
        bucket = (f"b{values[0] % 3}",)
        counted = self.per.getValue(bucket)
        self.per.updateValue(bucket, ((counted[0] if counted else 0) + 1,))
        self.handle.registerTimer(timerValues.getCurrentWatermarkInMs() + 120_000)
        yield self._result(key, fired=False)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        yield self._result(key, fired=True)

    def _result(self, key: Any, *, fired: bool) -> Row:
        ordered = sum((place + 1) * each[0] for place, each in enumerate(self.seen.get()))
        total = self.total.get() or (0,)
        buckets = sum(each[0] for each in self.per.values())
        return Row(k=key[0], total=total[0], n=ordered, last=None, buckets=buckets, fired=fired)

    def close(self) -> None:
        pass


def with_state(key: tuple[Any], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """For applyInPandasWithState, with a timeout."""
    fired = state.hasTimedOut
    total, n = state.get if state.exists else (0, 0)
    if not fired:
        for frame in frames:
            total, n = total + int(frame["v"].sum()), n + len(frame)
    state.update((total, n))
    state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 120_000)
    row = {"k": [key[0]], "total": [total], "n": [n], "last": [None], "buckets": [0], "fired": [fired]}
    yield pd.DataFrame(row).astype({"last": "Int64"})
