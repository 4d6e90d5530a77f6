"""A function with keyed state: what each aircraft has done, told whenever it has not been seen for three days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from operator import add

from snapline import (
    Context,
    KeyedProcessFunction,
    ReducingStateDescriptor,
    Row,
    RuntimeContext,
    ValueStateDescriptor,
)

QUIET = timedelta(days=3)
"""An aircraft that has no departure for longer is reported."""

SCHEMA = "tailnum string, flights bigint, total_delay bigint, last_dest string, last_seen timestamp"


class History(KeyedProcessFunction):
    """Counts the flights of an aircraft and adds up their delays; a timer reports it when it has been quiet.

    A quiet time can end within a micro-batch, before the watermark has got to the timer. The flight that ends it
    reports it then, so that the rows do not depend on how the days are cut into micro-batches.
    """

    def open(self, ctx: RuntimeContext) -> None:
        self.flights = ctx.get_reducing_state(ReducingStateDescriptor("flights", add, "bigint"))
        self.total_delay = ctx.get_reducing_state(ReducingStateDescriptor("total_delay", add, "bigint"))
        self.last = ctx.get_state(ValueStateDescriptor("last", "struct<dest: string, sched: timestamp>"))
        self.timer = ctx.get_state(ValueStateDescriptor("timer", "timestamp"))
        self.reports = ctx.get_metrics_group().counter("aircraftReported")

    def process_element(self, row: Row, ctx: Context) -> Iterator[tuple[object, ...]]:
        if row.tailnum is None:  # cancelled before an aircraft was chosen
            return
        timer = self.timer.value()
        if timer is not None:
            ctx.timer_service().delete_event_time_timer(timer)
            if row.sched > timer:
                yield self._report(ctx)
        self.flights.add(1)
        if row.dep_delay is not None:
            self.total_delay.add(row.dep_delay)
        self.last.update((row.dest, row.sched))
        self.timer.update(row.sched + QUIET)
        ctx.timer_service().register_event_time_timer(row.sched + QUIET)

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[tuple[object, ...]]:
        self.timer.clear()
        yield self._report(ctx)

    def _report(self, ctx: Context) -> tuple[object, ...]:
        self.reports.inc()
        dest, sched = self.last.value()
        return ctx.get_current_key(), self.flights.get(), self.total_delay.get(), dest, sched
