"""The contexts of assigners, triggers and window functions, as the window operator moves them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from snapline.errors import InternalError
from snapline.functions.context import EVENT, PROCESSING, Context, RuntimeContext, TimerService
from snapline.functions.ending_timers import DroppedTimers
from snapline.functions.metrics import MetricGroup
from snapline.functions.output_tag import OutputTag
from snapline.state.cursor import NEVER
from snapline.state.descriptors import MapStateDescriptor, StateDescriptor
from snapline.state.types import PICKLED
from snapline.window.assigner import WindowAssignerContext
from snapline.window.functions import WindowContext
from snapline.window.keys import WindowKeys
from snapline.window.stores import GlobalStore, KeyedStateStore, NoWindowStore, WindowStore
from snapline.window.timers import WindowTimers
from snapline.window.trigger import OnMergeContext, Trigger, TriggerResult
from snapline.window.windows import Window


@dataclass(frozen=True)
class WindowStates:
    """The states that triggers, assigners and functions ask for when they run; None: they ask for none."""

    of_trigger: WindowStore | None
    of_window: KeyedStateStore | None
    of_key: KeyedStateStore | None

    @classmethod
    def ask(
        cls, ctx: RuntimeContext, keys: WindowKeys, *, trigger: bool, window: bool, key: bool, merges: bool
    ) -> WindowStates:
        """Asks for the maps that hold them: for the trigger, for each window, for each key."""

        def by_window(name: str) -> WindowStore:
            state = f"struct<window: {keys.stored_as}, name: string>"
            return WindowStore(ctx._stored_map(MapStateDescriptor[Any, Any](name, state, PICKLED)))

        of_window: KeyedStateStore | None = None
        if window:
            of_window = NoWindowStore() if merges else by_window("window-state")
        of_key = GlobalStore(ctx._stored_map(MapStateDescriptor("global-state", "string", PICKLED))) if key else None
        return cls(by_window("trigger-state") if trigger else None, of_window, of_key)


def _there(store: Any) -> Any:
    if store is None:
        raise InternalError("state of a window that was not asked for.", "report it.")
    return store


class AssignerContext(WindowAssignerContext):
    """The context of the assigner."""

    def __init__(self, states: WindowStates) -> None:
        self._states = states
        self.service: TimerService

    def get_current_processing_time(self) -> int:
        return self.service.current_processing_time()

    def get_runtime_context(self) -> KeyedStateStore:
        return _there(self._states.of_key)  # type: ignore[no-any-return]


class TriggerCalls(OnMergeContext):
    """Calls the trigger for one window at a time, and is its context."""

    def __init__(
        self, trigger: Trigger, timers: WindowTimers, states: WindowStates, keys: WindowKeys, metrics: MetricGroup
    ) -> None:
        self._trigger = trigger
        self._timers = timers
        self._states = states
        self._key = keys.key
        self._metrics = metrics
        self._watermark = 0
        self._window: Any = None
        self._merged: Collection[Window] = ()
        self._is_bounded = False
        # The time of the timer that fires at the end of a bounded DataFrame; None before that, and in a stream.
        self._fired: int | None = None
        self._dropped = DroppedTimers(f"The trigger {type(trigger).__name__}")

    def enter(self, watermark: int) -> None:
        """A row or a timer comes at this watermark."""
        self._watermark = watermark
        self._is_bounded = self._timers.service._is_bounded

    def on_element(self, row: Any, timestamp: int | None, window: Window) -> TriggerResult:
        self._window = window
        return self._trigger.on_element(row, timestamp, window, self)

    def on_timer(self, time: int, window: Window, is_event: bool) -> TriggerResult:
        self._window = window
        if self._is_bounded:
            self._fired = time
        call = self._trigger.on_event_time if is_event else self._trigger.on_processing_time
        return call(time, window, self)

    def on_merge(self, result: Window, windows: Collection[Window]) -> None:
        self._window, self._merged = result, windows
        self._trigger.on_merge(result, self)

    def clear(self, window: Window) -> None:
        self._window = window
        self._trigger.clear(window, self)

    def get_current_processing_time(self) -> int:
        return self._timers.service.current_processing_time()

    def get_current_watermark(self) -> int:
        return self._watermark

    def get_metric_group(self) -> MetricGroup:
        return self._metrics

    def register_event_time_timer(self, time: int) -> None:
        self._register(time, EVENT)

    def register_processing_time_timer(self, time: int) -> None:
        self._register(time, PROCESSING)

    def _register(self, time: int, domain: int) -> None:
        """At the end of a bounded DataFrame a timer may set later ones up to the end of its window, and no others.

        There every timer fires, so that a chain without an end would go on for ever.
        """
        if self._fired is None or self._fired < time <= self._window.max_timestamp() < NEVER:
            self._timers.register(self._window, time, domain)
        elif time != self._fired:
            self._dropped.tell()

    def delete_event_time_timer(self, time: int) -> None:
        self._timers.delete(self._window, time, EVENT)

    def delete_processing_time_timer(self, time: int) -> None:
        self._timers.delete(self._window, time, PROCESSING)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        store = _there(self._states.of_trigger)
        store.window = self._key(self._window)
        return store.get(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        sources = [self._key(window) for window in self._merged]
        _there(self._states.of_trigger).merge(state_descriptor, self._key(self._window), sources)


class FiringContext(WindowContext):
    """The context of the window function."""

    def __init__(self, states: WindowStates, keys: WindowKeys) -> None:
        self._states = states
        self._key = keys.key
        self._watermark = 0
        self._window: Any = None
        self.keyed: Context

    def enter(self, ctx: Context, watermark: int) -> None:
        """A row or a timer comes at this watermark."""
        self.keyed, self._watermark = ctx, watermark

    def go_to(self, window: Window) -> None:
        """This window is next."""
        self._window = window

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return self.keyed.timer_service().current_processing_time()

    def current_watermark(self) -> int:
        return self._watermark

    def window_state(self) -> KeyedStateStore:
        store = _there(self._states.of_window)
        if isinstance(store, WindowStore):
            store.window = self._key(self._window)
        return store  # type: ignore[no-any-return]

    def global_state(self) -> KeyedStateStore:
        return _there(self._states.of_key)  # type: ignore[no-any-return]

    def output(self, tag: OutputTag, value: Any) -> None:
        self.keyed.output(tag, value)
