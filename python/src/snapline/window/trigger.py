"""The base of triggers, which say when a window is evaluated and when it is cleared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, ClassVar, Literal, TypeAlias

from snapline.functions.metrics import MetricGroup
from snapline.state.descriptors import StateDescriptor

#: The timers a trigger sets: none, one at the last ms of a window, or any.
Timers: TypeAlias = Literal["none", "end", "any"]

Rest: TypeAlias = Literal["before the end", "always"]


class TriggerResult(Enum):
    """What is done with a window: it is evaluated (fire), its contents are deleted (purge), both, or neither."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def __init__(self, fires: bool, purges: bool) -> None:
        self.fires = fires
        self.purges = purges

    def is_fire(self) -> bool:
        """Whether the window is evaluated."""
        return self.fires

    def is_purge(self) -> bool:
        """Whether its contents are deleted."""
        return self.purges


class TriggerContext(ABC):
    """The context of a trigger's methods: timers and state of one window of one key. Times are in ms."""

    @abstractmethod
    def get_current_processing_time(self) -> int:
        """The time of the micro-batch; in real-time mode that of the row or the timer."""

    @abstractmethod
    def get_current_watermark(self) -> int:
        """The watermark: in ``on_element`` the one that came before the rows of the micro-batch."""

    @abstractmethod
    def get_metric_group(self) -> MetricGroup:
        """The metrics of the window function. They are made in its ``open``."""

    @abstractmethod
    def register_event_time_timer(self, time: int) -> None:
        """Has ``on_event_time`` called when the watermark reaches the time."""

    @abstractmethod
    def register_processing_time_timer(self, time: int) -> None:
        """Has ``on_processing_time`` called in the first micro-batch at or after the time."""

    @abstractmethod
    def delete_event_time_timer(self, time: int) -> None:
        """Takes back a timer of this window."""

    @abstractmethod
    def delete_processing_time_timer(self, time: int) -> None:
        """Takes back a timer of this window."""

    @abstractmethod
    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        """State of this window, kept as a pickle."""


class OnMergeContext(TriggerContext):
    """The context of ``on_merge``."""

    @abstractmethod
    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Merges the state of the merged windows into that of the result: a list, a reducing or aggregating state."""


class Trigger(ABC):
    """Says when a window is evaluated.

    A trigger is shared by all windows of all keys, so that its attributes are no state. A subclass of a trigger that
    overrides methods says the attributes below anew. Otherwise they are those of this class.

    Attributes:
        timers: the timers that it sets; windows whose trigger sets none but at their end need less state.
        has_state: whether it asks for state.
        rests: when it has nothing to do with a row that is not the first of its window: before the watermark passes
            the end of the window, always, or (None) never.
    """

    timers: ClassVar[Timers] = "any"
    has_state: ClassVar[bool] = True
    rests: ClassVar[Rest | None] = None

    @abstractmethod
    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: TriggerContext) -> TriggerResult:
        """Called for each row that is put into a window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        """Called for a timer in processing time."""

    @abstractmethod
    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        """Called for a timer in event time."""

    def can_merge(self) -> bool:
        """Whether it has an ``on_merge``, and windows that merge may have it."""
        return False

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        """Called when windows have become one, which is ``window``."""
        raise NotImplementedError(f"{type(self).__name__} does not say how windows merge")

    @abstractmethod
    def clear(self, window: Any, ctx: TriggerContext) -> None:
        """Deletes state and timers of a window that is cleared."""
