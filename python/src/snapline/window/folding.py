"""Functions that make one value of the rows of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce as fold_left
from typing import Any

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.state.aggregate import AggregateFunction, ReduceFunction, reduce_of
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.row import Row, by_position, row_maker
from snapline.state.types import StateType
from snapline.window.assigner import MergingWindowAssigner, WindowAssigner
from snapline.window.contents import CONTENTS


@dataclass(frozen=True)
class Fold:
    """A function that folds rows.

    Attributes:
        name: of the user's function.
        descriptor: of the state that has the accumulator of each window.
        of_rows: the result for rows that are all there.
    """

    name: str
    descriptor: ReducingStateDescriptor[Any] | AggregatingStateDescriptor[Any, Any, Any]
    of_rows: Callable[[Sequence[Any]], Any]


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

    def reduce_rows(first: Any, second: Any) -> Any:
        found = reduce(first, second)
        return found if isinstance(found, Row) else make(by_position(found, names))

    name = type(function).__name__ if isinstance(function, ReduceFunction) else getattr(function, "__name__", "reduce")
    descriptor = ReducingStateDescriptor[Any](CONTENTS, reduce_rows, rows)
    return Fold(name, descriptor, lambda there: fold_left(reduce_rows, there))


def aggregating(
    function: AggregateFunction[Any, Any, Any], accumulator_type: StateType, assigner: WindowAssigner[Any]
) -> Fold:
    """An aggregate function of rows.

    Raises:
        InvalidConfiguration: it is none, or windows merge and its accumulators cannot.
    """
    descriptor = AggregatingStateDescriptor[Any, Any, Any](CONTENTS, function, accumulator_type)
    if isinstance(assigner, MergingWindowAssigner) and type(function).merge is AggregateFunction.merge:
        raise InvalidConfiguration(
            f"{type(function).__name__} over {assigner!r}, whose windows merge, and it has no merge().",
            "write merge(accumulator1, accumulator2): one accumulator of two.",
        )

    def of_rows(rows: Sequence[Any]) -> Any:
        accumulator = function.create_accumulator()
        for row in rows:
            accumulator = function.add(row, accumulator)
        return function.get_result(accumulator)

    return Fold(type(function).__name__, descriptor, of_rows)
