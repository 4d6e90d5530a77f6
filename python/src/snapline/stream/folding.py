"""``reduce`` and ``aggregate`` as process functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.context import Context, RuntimeContext
from snapline.functions.process import KeyedProcessFunction
from snapline.state.aggregate import AggregateFunction, ReduceFunction, reduce_of
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.row import Row, by_position, row_maker
from snapline.state.types import StateType

Emit = Literal["per_element", "per_batch"]


def reduction(
    function: Callable[[Any, Any], Any] | ReduceFunction[Any], schema: StructType, emit: Emit
) -> KeyedProcessFunction:
    """A function that yields the reduced row."""
    reduce = reduce_of(function)
    make, names = row_maker(schema.names), schema.names

    def reduce_rows(first: Row, second: Row) -> Row:
        found = reduce(first, second)
        return found if isinstance(found, Row) else make(by_position(found, names))

    descriptor = ReducingStateDescriptor("reduced", reduce_rows, schema)
    return _of(emit, _Reduce, _ReducePerBatch)(descriptor)


def aggregation(
    function: AggregateFunction[Any, Any, Any],
    accumulator_type: StateType,
    keys: int,
    results: Sequence[str],
    emit: Emit,
) -> KeyedProcessFunction:
    """A function that yields the key and the result."""
    descriptor = AggregatingStateDescriptor("aggregated", function, accumulator_type)
    return _of(emit, _Aggregate, _AggregatePerBatch)(descriptor, keys == 1, results)


def _of(
    emit: Emit, per_element: Callable[..., KeyedProcessFunction], per_batch: Callable[..., KeyedProcessFunction]
) -> Callable[..., KeyedProcessFunction]:
    if emit not in ("per_element", "per_batch"):
        raise InvalidConfiguration(f"emit is {emit!r}.", 'use "per_element" or "per_batch".')
    return per_element if emit == "per_element" else per_batch


class _Reduce(KeyedProcessFunction):
    def __init__(self, descriptor: ReducingStateDescriptor) -> None:
        self._descriptor = descriptor

    def open(self, ctx: RuntimeContext) -> None:
        self._state = ctx.get_reducing_state(self._descriptor)

    def process_element(self, row: Row, ctx: Context) -> Iterator[Any]:
        self._state.add(row)
        yield self._state.get()


class _ReducePerBatch(_Reduce):
    def process_element(self, row: Row, ctx: Context) -> None:  # type: ignore[override]
        self._state.add(row)
        _after_the_rows(ctx)

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[Any]:
        yield self._state.get()


class _Aggregate(KeyedProcessFunction):
    def __init__(self, descriptor: AggregatingStateDescriptor, is_one_key: bool, results: Sequence[str]) -> None:
        self._descriptor = descriptor
        self._is_one_key = is_one_key
        self._results = results

    def open(self, ctx: RuntimeContext) -> None:
        self._state = ctx.get_aggregating_state(self._descriptor)

    def process_element(self, row: Row, ctx: Context) -> Iterator[Any] | None:
        self._state.add(row)
        return self._result(ctx)

    def _result(self, ctx: Context) -> Iterator[Any]:
        key = ctx.get_current_key()
        result: Any = self._state.get()
        # One column has the result as its value, which may be a dict itself: that of a struct or of a map.
        values = (result,) if len(self._results) == 1 else by_position(result, self._results)
        yield (*((key,) if self._is_one_key else key), *values)


class _AggregatePerBatch(_Aggregate):
    def process_element(self, row: Row, ctx: Context) -> None:
        self._state.add(row)
        _after_the_rows(ctx)

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[Any]:
        return self._result(ctx)


def _after_the_rows(ctx: Context) -> None:
    """A timer for now is due once the rows of the micro-batch are through, in however many parts they came."""
    service = ctx.timer_service()
    service.register_processing_time_timer(service.current_processing_time())
