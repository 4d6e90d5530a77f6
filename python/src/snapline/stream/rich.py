"""``map``, ``flat_map`` and ``filter`` of keyed streams as process functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.opened import Opened
from snapline.functions.process import KeyedProcessFunction, check_synchronous_methods
from snapline.functions.rich import FilterFunction, FlatMapFunction, MapFunction

_BASES: dict[str, type[Opened]] = {"map": MapFunction, "flat_map": FlatMapFunction, "filter": FilterFunction}
#: From the result for a row, and the row, to rows of the output.
_OUTPUTS: dict[str, Callable[[Any, Any], Iterable[Any] | None]] = {
    "map": lambda result, row: None if result is None else (result,),
    "flat_map": lambda result, row: result,
    "filter": lambda result, row: (row,) if result else None,
}


def rich(function: Any, method: str) -> KeyedProcessFunction:
    """A process function that calls ``method`` of a function, or a plain function, with each row.

    Raises:
        InvalidConfiguration: it is neither.
    """
    base = _BASES[method]
    if isinstance(function, base):
        check_synchronous_methods(function, ("open", "close", method))
    elif isinstance(function, (type, Opened)) or not callable(function):
        raise InvalidConfiguration(
            f"{method}({function!r}).", f"give a function of a row, or an object of a subclass of {base.__name__}."
        )
    return _Rich(function, method)


class _Rich(KeyedProcessFunction):
    def __init__(self, function: Any, method: str) -> None:
        self._function = function
        self._method = method
        self._shown_as = getattr(function, "__name__", type(function).__name__)

    def open(self, ctx: Any) -> None:
        function = self._function
        if isinstance(function, Opened):
            function.open(ctx)
        self._call = getattr(function, self._method) if isinstance(function, Opened) else function
        self._output = _OUTPUTS[self._method]

    def close(self) -> None:
        if isinstance(self._function, Opened):
            self._function.close()

    def process_element(self, row: Any, ctx: Any) -> Iterable[Any] | None:
        return self._output(self._call(row), row)
