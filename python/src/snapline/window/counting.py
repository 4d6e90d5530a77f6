"""Windows that do not go by time: all rows of a key, or so many of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.state.descriptors import ValueStateDescriptor
from snapline.window.assigner import WindowAssigner, WindowAssignerContext
from snapline.window.count_triggers import CountTrigger, NeverTrigger, PurgingTrigger
from snapline.window.trigger import Trigger
from snapline.window.windows import CountWindow, GlobalWindow


class GlobalWindows(WindowAssigner[GlobalWindow]):
    """All rows of a key in one window, which its trigger has to fire and clear."""

    window_type = GlobalWindow
    has_state = False

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        return (GlobalWindow.get(),)

    def get_default_trigger(self, env: None = None) -> Trigger:
        return NeverTrigger()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _Counting(WindowAssigner[CountWindow]):
    window_type = CountWindow

    def __init__(self, window_size: int, name: str) -> None:
        self._size = _positive(window_size, "the size of a count window")
        self._descriptor = ValueStateDescriptor[int](name, "long")

    def get_default_trigger(self, env: None = None) -> Trigger:
        # A window that is full gets no more rows: kept on, it would stay in the state for ever.
        return PurgingTrigger(CountTrigger(self._size))

    def is_event_time(self) -> bool:
        return False

    def _next(self, context: WindowAssignerContext) -> int:
        """How many rows of the key came before this one."""
        state = context.get_runtime_context().get_state(self._descriptor)
        count = state.value() or 0
        state.update(count + 1)
        return count


class CountTumblingWindowAssigner(_Counting):
    """So many rows of a key to a window, one window after the other."""

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of ``window_size`` rows."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[CountWindow]:
        return (CountWindow(self._next(context) // self._size),)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._size})"


class CountSlidingWindowAssigner(_Counting):
    """So many rows of a key to a window; another window begins every ``window_slide`` rows."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, "slide-count-assigner")
        self._slide = _positive(window_slide, "the slide of count windows")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of ``window_size`` rows, one every ``window_slide`` rows."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssignerContext
    ) -> Collection[CountWindow]:
        at, slide = self._next(context), self._slide
        # The window number i has the rows from i * slide on.
        first = max(0, -(-(at - self._size + 1) // slide))
        return [CountWindow(number) for number in range(at // slide, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._size}, {self._slide})"


def _positive(number: int, what: str) -> int:
    if type(number) is not int or number < 1:
        raise InvalidConfiguration(f"{what} is {number!r}.", "give a whole number from 1 on.")
    return number
