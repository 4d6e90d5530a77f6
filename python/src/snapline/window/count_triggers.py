"""Triggers that count rows, and those that change or replace others."""

from __future__ import annotations

from operator import add
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.state.folding_descriptors import ReducingStateDescriptor
from snapline.window.shortcuts import rest_of, timers_of, trigger_has_state
from snapline.window.trigger import OnMergeContext, Rest, Timers, Trigger, TriggerContext, TriggerResult

_CONTINUE, _FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE


class _WithoutTimers(Trigger):
    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE


class CountTrigger(_WithoutTimers):
    """Fires when so many rows have come since it fired last. The contents of the window stay."""

    timers = "none"

    def __init__(self, window_size: int) -> None:
        if type(window_size) is not int or window_size < 1:
            raise InvalidConfiguration(f"CountTrigger of {window_size!r}.", "give a whole number from 1 on.")
        self._size = window_size
        self._descriptor = ReducingStateDescriptor[int]("count", add, "long")

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Fires every ``window_size`` rows."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        count = ctx.get_partitioned_state(self._descriptor)
        count.add(1)
        if count.get() < self._size:
            return _CONTINUE
        count.clear()
        return _FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._descriptor)

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(self._descriptor).clear()


class NeverTrigger(_WithoutTimers):
    """Never fires: what ``GlobalWindows`` have when no trigger is named."""

    timers = "none"
    has_state = False

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _CONTINUE

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        """There is nothing to clear."""


class PurgingTrigger(Trigger):
    """Fires as another trigger does, and deletes the contents of the window each time."""

    def __init__(self, nested_trigger: Trigger) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise InvalidConfiguration(
                f"PurgingTrigger of {nested_trigger!r}.", "give a trigger, as in PurgingTrigger.of(CountTrigger.of(3))."
            )
        self.nested = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        """Fires as ``nested_trigger``."""
        return PurgingTrigger(nested_trigger)

    @property
    def timers(self) -> Timers:  # type: ignore[override]
        return timers_of(self.nested)

    @property
    def has_state(self) -> bool:  # type: ignore[override]
        return trigger_has_state(self.nested)

    @property
    def rests(self) -> Rest | None:  # type: ignore[override]
        return rest_of(self.nested)

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested.on_event_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested.can_merge()

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        self.nested.on_merge(window, ctx)

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        self.nested.clear(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.fires else result
