"""The window operator: a keyed process function that puts rows into windows and evaluates them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from snapline.functions.context import EVENT, PROCESSING, Context, RuntimeContext
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.state.cursor import BEFORE_ALL, NEVER
from snapline.state.row import Row
from snapline.window.assigner import MergingWindowAssigner, WindowAssigner
from snapline.window.contents import Contents
from snapline.window.contexts import AssignerContext, FiringContext, TriggerCalls, WindowStates
from snapline.window.firing import Firing
from snapline.window.keys import WindowKeys
from snapline.window.merging import MergingWindowSet
from snapline.window.shortcuts import assigner_has_state, knows_ends, rest_of, timers_of, trigger_has_state
from snapline.window.timers import EndTimers, FollowingTimers, MappedTimers, SetTimers, WindowTimers
from snapline.window.trigger import Trigger, TriggerResult
from snapline.window.windows import Window


@dataclass(frozen=True)
class Windowing:
    """All that says which windows there are and when they are evaluated.

    Attributes:
        lateness: how long after its end, in ms, a window still takes rows.
        late_output: the side output of rows that come later than that; they are dropped without one.
    """

    assigner: WindowAssigner[Any]
    trigger: Trigger
    contents: Contents
    firing: Firing
    lateness: int = 0
    late_output: OutputTag | None = None


class WindowOperator(KeyedProcessFunction):
    """Rows come before the watermark of their micro-batch: they are late by the one before, and timers go by it."""

    takes_late_rows = True
    _ends_its_timers = True

    def __init__(self, windowing: Windowing, function: str) -> None:
        self._windowing = windowing
        self._shown_as = f"{function} over {windowing.assigner!r}"

    def open(self, ctx: RuntimeContext) -> None:
        self._assigner = assigner = self._windowing.assigner
        trigger = self._windowing.trigger
        self._contents, self._firing = self._windowing.contents, self._windowing.firing
        self._lateness, self._late_output = self._windowing.lateness, self._windowing.late_output
        self._by_event_time = assigner.is_event_time()
        self._is_in_rows: bool | None = None
        self._rests = rest_of(trigger)
        self._domain = EVENT if self._by_event_time else PROCESSING
        keys = WindowKeys.of(assigner.window_type)
        self._key = keys.key
        self._merging = MergingWindowSet(assigner, keys) if isinstance(assigner, MergingWindowAssigner) else None
        if self._merging is not None:
            self._merging.open(ctx)
        self._timers = self._timers_of(assigner, trigger, keys)
        self._timers.open(ctx)
        self._contents.open(ctx, keys.stored_as)
        states = WindowStates.ask(
            ctx,
            keys,
            trigger=trigger_has_state(trigger),
            window=self._firing.has_state,
            key=self._firing.has_state or assigner_has_state(assigner),
            merges=self._merging is not None,
        )
        metrics = ctx.get_metrics_group()
        self._dropped = metrics.counter("numLateRecordsDropped")
        self._trigger_calls = TriggerCalls(trigger, self._timers, states, keys, metrics)
        self._assigner_context = AssignerContext(states)
        self._firing_context = FiringContext(states, keys)
        self._firing.open(ctx)

    def _timers_of(self, assigner: WindowAssigner[Any], trigger: Trigger, keys: WindowKeys) -> WindowTimers:
        if timers_of(trigger) != "any":
            if self._merging is not None:
                follow = self._rests is not None and not self._lateness and self._merging.merges_spans
                return FollowingTimers(self._merging) if follow else SetTimers(self._merging, self._lateness)
            if knows_ends(assigner):
                return EndTimers(assigner, self._lateness)
        return MappedTimers(keys)

    def close(self) -> None:
        self._firing.close()

    # ---- rows

    def process_element(self, row: Row, ctx: Context) -> list[Any] | None:
        if not self._is_in_rows:
            self._is_in_rows = True
            self._enter(ctx, ctx.timer_service().watermark_before_rows())
        timestamp = ctx.timestamp()
        windows = self._assigner.assign_windows(row, timestamp, self._assigner_context)
        out: list[Any] = []
        if self._merging is not None:
            is_taken = self._add_merging(row, timestamp, windows, out)
        else:
            is_taken = False
            add, resting = self._contents.add, self._resting
            for window in windows:
                last = window.max_timestamp()
                if last + self._lateness <= self._over:
                    continue
                is_taken = True
                key = self._key(window)
                if add(key, row) or last <= resting:
                    self._added(row, timestamp, window, key, out)
        if not is_taken and self._is_late(timestamp):
            if self._late_output is None:
                self._dropped.inc()
            else:
                ctx.output(self._late_output, row)
        return out or None

    def _enter(self, ctx: Context, watermark: int) -> None:
        """Rows, or timers, come from now on: their watermark is the same for all, their processing time may go on."""
        service = ctx.timer_service()
        # A window that ends by then is over: none is in processing time.
        self._over = watermark if self._by_event_time else BEFORE_ALL
        # A trigger that rests does so in windows that end after this.
        self._resting = {None: NEVER, "always": BEFORE_ALL, "before the end": watermark}[self._rests]
        self._timers.service = service
        self._trigger_calls.enter(watermark)
        # In real-time mode the clock goes on from row to row, so that nothing here keeps its time.
        self._assigner_context.service = service
        self._firing_context.enter(ctx, watermark)

    def _add_merging(self, row: Row, timestamp: int | None, windows: Collection[Window], out: list[Any]) -> bool:
        assert self._merging is not None
        merging, follow = self._merging.load(), self._timers.follow
        is_taken = False
        for window in windows:
            whole = merging.add(window, self._on_merge)
            last = whole.max_timestamp()
            if last + self._lateness <= self._over:
                merging.retire(whole)
                continue
            is_taken = True
            key = self._key(merging.place_of(whole))
            if self._contents.add(key, row) or (merging.has_grown and not follow) or last <= self._resting:
                self._added(row, timestamp, whole, key, out)
        merging.save()
        return is_taken

    def _on_merge(self, result: Window, windows: Collection[Window], place: Window, others: Collection[Window]) -> None:
        if not self._timers.follow:
            self._trigger_calls.on_merge(result, windows)
            for window in windows:
                if window != result:
                    self._trigger_calls.clear(window)
                    self._timers.delete(window, self._end_of(window), self._domain)
        if others:
            self._contents.merge(self._key(place), [self._key(other) for other in others])

    def _added(self, row: Row, timestamp: int | None, window: Window, key: Any, out: list[Any]) -> None:
        """A row has come into a window, and the trigger has to know."""
        self._follow(self._trigger_calls.on_element(row, timestamp, window), window, key, out)
        self._timers.register(window, self._end_of(window), self._domain)

    def _end_of(self, window: Window) -> int:
        """The time at which the state of a window is deleted."""
        last = window.max_timestamp()
        return min(last + self._lateness, NEVER) if self._lateness else last

    def _is_late(self, timestamp: int | None) -> bool:
        return timestamp is not None and timestamp + self._lateness <= self._over

    # ---- timers

    def on_timer(self, timestamp: int, ctx: Context) -> list[Any] | None:
        if self._is_in_rows is not False:
            self._is_in_rows = False
            self._enter(ctx, ctx.timer_service().current_watermark())
        is_event = ctx.time_domain() == "event"
        domain = EVENT if is_event else PROCESSING
        if self._merging is not None:
            self._merging.load()
        out: list[Any] = []
        for window in self._timers.due(timestamp, domain):
            place = window if self._merging is None else self._merging.place_of(window)
            if place is None:
                continue
            key = self._key(place)
            self._follow(self._trigger_calls.on_timer(timestamp, window, is_event), window, key, out)
            if domain == self._domain and timestamp == self._end_of(window):
                self._clear(window, key)
        if self._merging is not None:
            self._merging.save()
        return out or None

    def _clear(self, window: Window, key: Any) -> None:
        self._contents.clear(key)
        self._trigger_calls.clear(window)
        self._firing_context.go_to(window)
        self._firing.clear(self._firing_context)
        if self._merging is not None:
            self._merging.retire(window)

    # ---- both

    def _follow(self, result: TriggerResult, window: Window, key: Any, out: list[Any]) -> None:
        """Does what the trigger says."""
        if result.fires:
            self._firing_context.go_to(window)
            out.extend(self._firing.fire(self._contents, key, self._firing_context))
        if result.purges:
            self._contents.clear(key)
