"""Triggers that go by time."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from snapline.state.folding_descriptors import ReducingStateDescriptor
from snapline.window.span import Span, millis_of
from snapline.window.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from snapline.window.windows import TimeWindow

_CONTINUE, _FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE


class EventTimeTrigger(Trigger):
    """Fires when the watermark passes the end of the window, and then for each late row that is allowed."""

    timers = "end"
    has_state = False
    rests = "before the end"

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _FIRE if time == window.max_timestamp() else _CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(Trigger):
    """Fires in the first micro-batch at or after the end of the window."""

    timers = "end"
    has_state = False
    rests = "always"

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _FIRE

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class _Continuous(Trigger):
    """Fires each time an interval is over, by a timer whose time it keeps."""

    def __init__(self, interval: Span) -> None:
        self._interval = millis_of(interval, f"the interval of {type(self).__name__}")
        self._descriptor = ReducingStateDescriptor[int]("fire-time", min, "long")

    def can_merge(self) -> bool:
        return True

    def _begin(self, time: int, window: TimeWindow, ctx: TriggerContext) -> None:
        """Sets the timer of a window that has none: at the next whole multiple of the interval."""
        if ctx.get_partitioned_state(self._descriptor).get() is None:
            self._set(time - time % self._interval, window, ctx)

    def _set(self, time: int, window: TimeWindow, ctx: TriggerContext) -> None:
        at = min(time + self._interval, window.max_timestamp())
        ctx.get_partitioned_state(self._descriptor).add(at)
        self._register(at, ctx)

    def _go_on(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        """Fires, and sets the next timer, if this one is that of the interval."""
        state = ctx.get_partitioned_state(self._descriptor)
        if state.get() != time:
            return _CONTINUE
        state.clear()
        self._set(time, window, ctx)
        return _FIRE

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._descriptor)
        at = ctx.get_partitioned_state(self._descriptor).get()
        if at is not None:
            self._register(at, ctx)

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        state = ctx.get_partitioned_state(self._descriptor)
        at = state.get()
        if at is not None:
            self._delete(at, ctx)
            state.clear()

    @abstractmethod
    def _register(self, time: int, ctx: TriggerContext) -> None:
        """Sets a timer in the time that the trigger goes by."""

    @abstractmethod
    def _delete(self, time: int, ctx: TriggerContext) -> None:
        """Takes it back."""


class ContinuousEventTimeTrigger(_Continuous):
    """Fires when the watermark passes each multiple of the interval, and the end of the window."""

    @staticmethod
    def of(interval: Span) -> ContinuousEventTimeTrigger:
        """Fires at each multiple of ``interval``: a timedelta, or ms."""
        return ContinuousEventTimeTrigger(interval)

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        if timestamp is not None:
            self._begin(timestamp, window, ctx)
        return _CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _FIRE if time == window.max_timestamp() else self._go_on(time, window, ctx)

    def _register(self, time: int, ctx: TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_Continuous):
    """Fires in the first micro-batch at or after each multiple of the interval."""

    @staticmethod
    def of(interval: Span) -> ContinuousProcessingTimeTrigger:
        """Fires at each multiple of ``interval``: a timedelta, or ms."""
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        self._begin(ctx.get_current_processing_time(), window, ctx)
        return _CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return self._go_on(time, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE

    def _register(self, time: int, ctx: TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)
