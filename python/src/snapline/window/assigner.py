"""The base of window assigners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from snapline.window.windows import TimeWindow, Window

if TYPE_CHECKING:
    from snapline.window.stores import KeyedStateStore
    from snapline.window.trigger import Trigger

W = TypeVar("W", bound=Window)


class WindowAssignerContext(ABC):
    """The context of ``assign_windows``."""

    @abstractmethod
    def get_current_processing_time(self) -> int:
        """The time of the micro-batch, in ms; in real-time mode that of the row."""

    @abstractmethod
    def get_runtime_context(self) -> KeyedStateStore:
        """States of the key, whatever the window."""


class WindowAssigner(ABC, Generic[W]):
    """Puts each row into windows.

    A subclass of an assigner that overrides ``assign_windows`` says ``has_state`` and ``window_that_ends`` anew.
    Otherwise they are those of this class. So it is with ``merge_windows`` and ``merges_spans``.

    Attributes:
        window_type: the type of its windows.
        has_state: whether it asks for state of the key.
    """

    window_type: ClassVar[type[Window]] = TimeWindow
    has_state: ClassVar[bool] = True

    @abstractmethod
    def assign_windows(self, element: Any, timestamp: int | None, context: WindowAssignerContext) -> Collection[W]:
        """The windows of a row.

        Args:
            element: the row.
            timestamp: its event time in ms; None without one.
            context: the time, and states of the key.
        """

    @abstractmethod
    def get_default_trigger(self, env: None = None) -> Trigger:
        """The trigger of a stream that names none. ``env`` is there for PyFlink's sake."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows go by the time of the rows, and their state is kept until the watermark passes them."""

    def window_that_ends(self, end: int) -> W | None:
        """The only window that can end at this time, in ms; None: the time alone does not tell.

        Timers of an assigner that can tell need no state of their own.
        """
        return None


class MergingWindowAssigner(WindowAssigner[W]):
    """An assigner whose windows merge, as sessions do.

    Attributes:
        merges_spans: whether time windows that overlap or touch become one, and no others do.
    """

    merges_spans: ClassVar[bool] = False

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback) -> None:
        """Tells the callback which windows become one."""


class MergeCallback:
    """Takes what ``merge_windows`` finds: ``merge(windows, result)``."""

    def __init__(self, merge: Callable[[Collection[Any], Any], None]) -> None:
        self.merge = merge
