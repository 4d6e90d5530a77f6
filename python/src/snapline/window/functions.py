"""The functions of windows that users write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from snapline.functions.opened import Opened
from snapline.functions.output_tag import OutputTag

if TYPE_CHECKING:
    from snapline.window.stores import KeyedStateStore


class WindowContext(ABC):
    """The context of a window function: one window of one key. Times are in ms."""

    @abstractmethod
    def window(self) -> Any:
        """The window."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The time of the micro-batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The watermark: that before the rows of the micro-batch where a row has the window evaluated."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """State of this window, kept as pickles. ``clear`` has to delete it."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """State of the key, whatever the window, kept as pickles. State of a Spark type is asked for in ``open``."""

    @abstractmethod
    def output(self, tag: OutputTag, value: Any) -> None:
        """Emits a row to a side output."""


class ProcessWindowFunction(Opened, ABC):
    """A function of all rows of a window of a key."""

    #: PyFlink's name of the context.
    Context = WindowContext

    @abstractmethod
    def process(self, key: Any, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        """Handles a window that fires; yields rows of the output, or pairs of the tag of a side output and a row.

        Args:
            key: the value of a single key column, else a row of all.
            context: the window, times and state.
            elements: the rows of the window in the order in which they came; the one result, if the stream names an
                aggregate too.
        """

    def clear(self, context: WindowContext) -> None:
        """Deletes the state of a window whose time is over."""


class ProcessAllWindowFunction(Opened, ABC):
    """A function of all rows of a window of a whole stream."""

    #: PyFlink's name of the context.
    Context = WindowContext

    @abstractmethod
    def process(self, context: WindowContext, elements: Iterable[Any]) -> Iterable[Any] | None:
        """Handles a window that fires; arguments and result as of :meth:`ProcessWindowFunction.process`."""

    def clear(self, context: WindowContext) -> None:
        """Deletes the state of a window whose time is over."""


class AllWindowFunction(Opened, ABC):
    """A function of all rows of a window of a whole stream, without a context."""

    @abstractmethod
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        """Handles a window that fires; arguments and result as of :meth:`ProcessWindowFunction.process`."""


class WindowFunction(Opened, ABC):
    """A function of all rows of a window of a key, without a context."""

    @abstractmethod
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        """Handles a window that fires; arguments and result as of :meth:`ProcessWindowFunction.process`."""
