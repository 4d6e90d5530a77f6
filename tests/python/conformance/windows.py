"""Windows that harness and operator have to agree on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from snapline import AggregateFunction, OutputTag, ReducingStateDescriptor, ValueStateDescriptor
from snapline.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessWindowFunction,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

MINUTES = timedelta(minutes=1)
BIG = OutputTag("big", "k long, v long")
OUTPUT = "k long, begin timestamp, values array<long>, firings long, total long"


class Fired(ProcessWindowFunction):
    """The rows of a window, how often it has fired, and the sum of all rows that the key has seen in windows."""

    FIRINGS = ValueStateDescriptor[int]("firings", "long")
    TOTAL = ReducingStateDescriptor[int]("total", lambda a, b: a + b, "long")

    def open(self, ctx: Any) -> None:
        self.windows = ctx.get_metrics_group().counter("windowsFired")
        self.first = ctx.get_state(ValueStateDescriptor("first", "timestamp"))

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        self.windows.inc()
        rows = list(elements)
        if self.first.value() is None:
            self.first.update(rows[0].t)
        firings, total = context.window_state().get_state(self.FIRINGS), context.global_state()
        firings.update((firings.value() or 0) + 1)
        for row in rows:
            total.get_reducing_state(self.TOTAL).add(row.v)
            if row.v > 6:
                yield BIG, (key, row.v)
        seen = total.get_reducing_state(self.TOTAL).get()
        yield key, self.first.value(), sorted(row.v for row in rows), firings.value(), seen

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.FIRINGS).clear()


class Plain(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        rows = list(elements)
        yield key, min(row.t for row in rows), sorted(row.v for row in rows), len(rows), context.current_watermark()


class Spread(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any:
        return None, None

    def add(self, value: Any, accumulator: Any) -> Any:
        return self.merge((value.v, value.v), accumulator)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[1] - accumulator[0]

    def merge(self, accumulator1: Any, accumulator2: Any) -> Any:
        pairs = [pair for pair in (accumulator1, accumulator2) if pair[0] is not None]
        return min(low for low, _ in pairs), max(high for _, high in pairs)


ACCUMULATOR = "struct<low: long, high: long>"


def late(stream: Any) -> Any:
    return (
        stream.window(TumblingEventTimeWindows.of(5 * MINUTES))
        .allowed_lateness(4 * MINUTES)
        .side_output_late_data("late")
        .process(Fired(), OUTPUT, side_outputs=[BIG])
    )


def sliding(stream: Any) -> Any:
    return stream.window(SlidingEventTimeWindows.of(6 * MINUTES, 2 * MINUTES)).aggregate(
        Spread(), output_type="spread long", accumulator_type=ACCUMULATOR, with_window=True
    )


def sessions(stream: Any) -> Any:
    return (
        stream.window(EventTimeSessionWindows.with_gap(2 * MINUTES))
        .allowed_lateness(3 * MINUTES)
        .aggregate(Spread(), output_type="spread long", accumulator_type=ACCUMULATOR, with_window=True)
    )


def continuous(stream: Any) -> Any:
    trigger = ContinuousEventTimeTrigger.of(3 * MINUTES)
    return stream.window(TumblingEventTimeWindows.of(20 * MINUTES)).trigger(trigger).process(Plain(), OUTPUT)


def continuous_sessions(stream: Any) -> Any:
    trigger = PurgingTrigger.of(ContinuousEventTimeTrigger.of(3 * MINUTES))
    return stream.window(EventTimeSessionWindows.with_gap(3 * MINUTES)).trigger(trigger).process(Plain(), OUTPUT)


def evicting(stream: Any) -> Any:
    windowed = stream.order_by("t", "v").window(GlobalWindows.create()).trigger(CountTrigger.of(3))
    return windowed.evictor(CountEvictor.of(4)).process(Plain(), OUTPUT)


def counting(stream: Any) -> Any:
    return stream.order_by("t", "v").count_window(4, 2).process(Plain(), OUTPUT)


WINDOWS: dict[str, Callable[[Any], Any]] = {
    "windows with late rows": late,
    "sliding windows": sliding,
    "sessions": sessions,
    "continuous windows": continuous,
    "continuous sessions": continuous_sessions,
}
"""Their rows may come in any order."""
COUNTS: dict[str, Callable[[Any], Any]] = {"an evictor": evicting, "count windows": counting}
