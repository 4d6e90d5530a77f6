"""The evaluation of a window: from its contents to rows of the output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from snapline.functions.context import RuntimeContext
from snapline.state.row import by_position
from snapline.window.contents import Contents, RowContents
from snapline.window.contexts import FiringContext
from snapline.window.evictors import Evictor, EvictorContext, TimestampedValue
from snapline.window.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

AnyWindowFunction: TypeAlias = ProcessWindowFunction | WindowFunction | ProcessAllWindowFunction | AllWindowFunction


class Output(ABC):
    """Makes rows of the output of what a window has."""

    name = "result"

    def open(self, ctx: RuntimeContext) -> None:  # noqa: B027
        """Asks for states and metrics."""

    def close(self) -> None:  # noqa: B027
        """Gives back what ``open`` took."""

    def clear(self, ctx: FiringContext) -> None:  # noqa: B027
        """Deletes the state of a window whose time is over."""

    @abstractmethod
    def rows(self, elements: Sequence[Any], ctx: FiringContext) -> Iterable[Any]:
        """The rows."""


class Firing:
    """Evaluates windows.

    Attributes:
        has_state: whether a function of the user's may ask for state of a window or a key when it runs.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self.has_state = isinstance(output, OutputOfFunction)

    def open(self, ctx: RuntimeContext) -> None:
        self._output.open(ctx)

    def close(self) -> None:
        self._output.close()

    def clear(self, ctx: FiringContext) -> None:
        self._output.clear(ctx)

    def fire(self, contents: Contents, key: Any, ctx: FiringContext) -> Iterable[Any]:
        """The rows of a window; none if there is nothing in it."""
        elements = contents.elements(key)
        return () if elements is None else self._output.rows(elements, ctx)


class EvictingFiring(Firing):
    """Removes rows before and after the window is evaluated.

    Args:
        fold: makes the one element that the output is given out of the rows; None: it is given the rows.
        time_column: the place of a row's event time; None: rows have none.
    """

    def __init__(
        self,
        output: Output,
        evictor: Evictor,
        fold: Callable[[Sequence[Any]], Any] | None,
        time_column: int | None,
    ) -> None:
        super().__init__(output)
        self._evictor = evictor
        self._fold = fold
        self._time_column = time_column

    def fire(self, contents: Contents, key: Any, ctx: FiringContext) -> Iterable[Any]:
        assert isinstance(contents, RowContents)
        there = contents.elements(key)
        if there is None:
            return ()
        service, at = ctx.keyed.timer_service(), self._time_column
        times = [None if at is None or row[at] is None else service.to_millis(row[at]) for row in there]
        elements: Sequence[TimestampedValue] = list(map(TimestampedValue, there, times))
        context = EvictorContext(ctx.current_processing_time(), ctx.current_watermark())
        elements = self._evictor.evict_before(elements, ctx.window(), context)
        rows = [each.value for each in elements]
        out: list[Any] = []
        if rows:
            out = list(self._output.rows(rows if self._fold is None else (self._fold(rows),), ctx))
            elements = self._evictor.evict_after(elements, ctx.window(), context)
        if len(elements) < len(there):
            contents.replace(key, [each.value for each in elements])
        return out


class ResultOutput(Output):
    """The one element, between the columns of the key and those of the window.

    Args:
        key: how many columns the key has in the output; 0: none.
        window: whether two columns have the start and the end of the window.
        columns: the names of the result's columns; of one alone the element is the value. None: it is a row.
    """

    def __init__(self, key: int, window: bool, columns: Sequence[str] | None) -> None:
        self._key = key
        self._window = window
        self._columns = columns

    def rows(self, elements: Sequence[Any], ctx: FiringContext) -> Iterable[Any]:
        (result,) = elements
        before: tuple[Any, ...] = ()
        if self._key:
            key = ctx.keyed.get_current_key()
            before = (key,) if self._key == 1 else tuple(key)
        if self._columns is None:
            values: Sequence[Any] = result
        else:
            values = (result,) if len(self._columns) == 1 else by_position(result, self._columns)
        if not self._window:
            return ((*before, *values),)
        window, service = ctx.window(), ctx.keyed.timer_service()
        return ((*before, *values, service.to_datetime(window.start), service.to_datetime(window.end)),)


class OutputOfFunction(Output):
    """The rows that a function of the user's makes of the elements."""

    def __init__(self, function: AnyWindowFunction) -> None:
        self._function = function
        self.name = type(function).__name__

    def open(self, ctx: RuntimeContext) -> None:
        self._function.open(ctx)

    def close(self) -> None:
        self._function.close()

    def rows(self, elements: Sequence[Any], ctx: FiringContext) -> Iterable[Any]:
        return self._call(elements, ctx) or ()

    def _call(self, elements: Sequence[Any], ctx: FiringContext) -> Iterable[Any] | None:
        function = self._function
        if isinstance(function, ProcessWindowFunction):
            return function.process(ctx.keyed.get_current_key(), ctx, elements)
        if isinstance(function, WindowFunction):
            return function.apply(ctx.keyed.get_current_key(), ctx.window(), elements)
        if isinstance(function, ProcessAllWindowFunction):
            return function.process(ctx, elements)
        return function.apply(ctx.window(), elements)

    def clear(self, ctx: FiringContext) -> None:
        if isinstance(self._function, (ProcessWindowFunction, ProcessAllWindowFunction)):
            self._function.clear(ctx)
