"""Functions of two inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from snapline.functions.opened import Opened

if TYPE_CHECKING:
    from snapline.functions.context import Context
    from snapline.state.row import Row


class CoProcessFunction(Opened, ABC):
    """A function of the rows of two inputs. Each row keeps the columns of its input; state is shared by both."""

    @abstractmethod
    def process_element1(self, row: Row, ctx: Context) -> Iterable[Any] | None:
        """Handles a row of the first input; yields rows of the output."""

    @abstractmethod
    def process_element2(self, row: Row, ctx: Context) -> Iterable[Any] | None:
        """Handles a row of the second input; yields rows of the output."""


class KeyedCoProcessFunction(CoProcessFunction):
    """The same for the rows of one key, with state and timers.

    Attributes:
        takes_late_rows: as of :class:`KeyedProcessFunction`; rows are late by the lower of the two watermarks.
        lists_timers: as there.
    """

    takes_late_rows: ClassVar[bool] = False
    lists_timers: ClassVar[bool] = False

    def on_timer(self, timestamp: int, ctx: Context) -> Iterable[Any] | None:
        """Handles a timer that is due; yields rows of the output. The time stamp is in ms."""
        raise NotImplementedError(f"{type(self).__name__} registers timers, and has no on_timer")


class CoMapFunction(Opened, ABC):
    """One row of the output for each row of two inputs; None: no row."""

    @abstractmethod
    def map1(self, value: Row) -> Any:
        """The row for one of the first input."""

    @abstractmethod
    def map2(self, value: Row) -> Any:
        """The row for one of the second input."""


class CoFlatMapFunction(Opened, ABC):
    """Any number of rows of the output for each row of two inputs."""

    @abstractmethod
    def flat_map1(self, value: Row) -> Iterable[Any] | None:
        """The rows for one of the first input."""

    @abstractmethod
    def flat_map2(self, value: Row) -> Iterable[Any] | None:
        """The rows for one of the second input."""
