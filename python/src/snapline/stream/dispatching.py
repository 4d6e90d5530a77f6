"""Functions of two inputs, as functions of rows that have the columns of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.kind import FunctionKind
from snapline.functions.process import KeyedProcessFunction, check_synchronous_methods
from snapline.functions.two_inputs import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from snapline.functions.unkeyed import ProcessFunction
from snapline.stream.two_inputs import SECOND, Shape, TwoInputs


def function_of_both(function: Any, kind: FunctionKind, inputs: TwoInputs) -> KeyedProcessFunction | ProcessFunction:
    """A function of the rows of the whole.

    Raises:
        InvalidConfiguration: it is no function of two inputs of this kind.
    """
    base = KeyedCoProcessFunction if kind.is_keyed else CoProcessFunction
    if not isinstance(function, (base, CoMapFunction, CoFlatMapFunction)):
        what = "the class itself" if isinstance(function, type) else f"no {base.__name__}"
        raise InvalidConfiguration(f"{function!r}, {what}.", f"give an object of a subclass of {base.__name__}.")
    methods = ("open", "close", "process_element1", "process_element2", "on_timer", "map1", "map2")
    check_synchronous_methods(function, (*methods, "flat_map1", "flat_map2"))
    at = inputs.schema.names.index(SECOND)
    return (_Keyed if kind.is_keyed else _Unkeyed)(function, at, inputs.shapes())


class _Dispatch:
    """Hands each row to the method for its input."""

    def __init__(self, function: Any, at: int, shapes: tuple[Shape, Shape]) -> None:
        self._function = function
        self._at = at
        self._shapes = shapes
        self._shown_as: str | None = getattr(function, "_shown_as", None) or type(function).__name__
        self.takes_late_rows = getattr(function, "takes_late_rows", False)
        self.lists_timers = getattr(function, "lists_timers", False)

    def open(self, ctx: Any) -> None:
        function = self._function
        function.open(ctx)
        if isinstance(function, CoMapFunction):
            map1, map2 = function.map1, function.map2
            self._dispatch(lambda row, ctx: _rows(map1(row)), lambda row, ctx: _rows(map2(row)))
        elif isinstance(function, CoFlatMapFunction):
            flat_map1, flat_map2 = function.flat_map1, function.flat_map2
            self._dispatch(lambda row, ctx: flat_map1(row), lambda row, ctx: flat_map2(row))
        else:
            self._dispatch(function.process_element1, function.process_element2)

    def _dispatch(self, one: Callable[[Any, Any], Any], two: Callable[[Any, Any], Any]) -> None:
        """Makes the method that is called for each row: as a function it needs no attribute of the object."""
        at = self._at
        first, second = (shape.row_of() for shape in self._shapes)

        def process_element(row: Any, ctx: Any) -> Iterable[Any] | None:
            return two(second(row), ctx) if row[at] else one(first(row), ctx)  # type: ignore[no-any-return]

        self.process_element = process_element  # type: ignore[method-assign]

    def close(self) -> None:
        self._function.close()

    def process_element(self, row: Any, ctx: Any) -> Iterable[Any] | None:
        raise NotImplementedError("open() makes it")


class _Unkeyed(_Dispatch, ProcessFunction):
    pass


class _Keyed(_Dispatch, KeyedProcessFunction):
    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        return self._function.on_timer(timestamp, ctx)  # type: ignore[no-any-return]


def _rows(row: Any) -> tuple[Any, ...]:
    return () if row is None else (row,)
