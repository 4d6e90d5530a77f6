"""Functions that make one value of the rows of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.state.aggregate import AggregateFunction, ReduceFunction, reduce_of
from snapline.state.folding_descriptors import AggregatingStateDescriptor
from snapline.state.row import Row, by_position, row_maker
from snapline.state.types import StateType
from snapline.window.assigner import MergingWindowAssigner, WindowAssigner


@dataclass(frozen=True)
class Fold:
    """A function that folds rows into an accumulator.

    Attributes:
        name: the name of the user's function.
        type: the type of the accumulator.
        first: from the first row to an accumulator.
        next: from a row and the accumulator of those before it to one of all.
        result: from an accumulator to the result.
        merge: one accumulator of two, the older first.
    """

    name: str
    type: StateType
    first: Callable[[Any], Any]
    next: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]

    def of_rows(self, rows: Sequence[Any]) -> Any:
        """The result for rows that are all there."""
        accumulator = self.first(rows[0])
        for row in rows[1:]:
            accumulator = self.next(row, accumulator)
        return self.result(accumulator)


def reducing(function: Callable[[Any, Any], Any] | ReduceFunction[Any], rows: StructType) -> Fold:
    """A reduce function of rows; they may be given back as tuples or dicts.

    Raises:
        InvalidConfiguration: it is no function.
    """
    if not isinstance(function, ReduceFunction) and not callable(function):
        raise InvalidConfiguration(
            f"a reduce function {function!r}.", "give a function of two rows, or a ReduceFunction."
        )
    reduce = reduce_of(function)
    make, names = row_maker(rows.names), rows.names

    def of_two(first: Any, second: Any) -> Any:
        found = reduce(first, second)
        return found if isinstance(found, Row) else make(by_position(found, names))

    name = type(function).__name__ if isinstance(function, ReduceFunction) else getattr(function, "__name__", "reduce")
    return Fold(name, rows, _itself, lambda row, before: of_two(before, row), _itself, of_two)


def _itself(row: Any) -> Any:
    return row


def aggregating(
    function: AggregateFunction[Any, Any, Any], accumulator_type: StateType, assigner: WindowAssigner[Any]
) -> Fold:
    """An aggregate function of rows.

    Raises:
        InvalidConfiguration: it is none, or windows merge and its accumulators cannot.
    """
    # For its checks: the operator keeps accumulators by window.
    AggregatingStateDescriptor[Any, Any, Any]("aggregate", function, accumulator_type)
    if isinstance(assigner, MergingWindowAssigner) and type(function).merge is AggregateFunction.merge:
        raise InvalidConfiguration(
            f"{type(function).__name__} over {assigner!r}, whose windows merge, and it has no merge().",
            "write merge(accumulator1, accumulator2): one accumulator of two.",
        )

    def first(row: Any) -> Any:
        return function.add(row, function.create_accumulator())

    return Fold(type(function).__name__, accumulator_type, first, function.add, function.get_result, function.merge)
