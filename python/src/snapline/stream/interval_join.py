"""Interval joins: pairs of rows of a key whose times lie within bounds of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.join import JoinContext, ProcessJoinFunction
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import check_synchronous_methods
from snapline.functions.two_inputs import KeyedCoProcessFunction
from snapline.state.descriptors import MapStateDescriptor
from snapline.state.map import MapState
from snapline.stream.connected import ConnectedStreams
from snapline.window.span import Span, millis_of

_ANY = -(1 << 62)


class IntervalJoin:
    """Two keyed streams to be joined by time; what ``KeyedStream.interval_join`` gives.

    Raises:
        InvalidConfiguration: rows have no time.
    """

    def __init__(self, both: ConnectedStreams) -> None:
        if both.inputs.time is None:
            raise InvalidConfiguration(
                "an interval join of streams without event time.",
                'give both a watermark before key_by: withWatermark("time", "1 minute").',
            )
        self._both = both

    def between(self, lower_bound: Span, upper_bound: Span) -> IntervalJoined:
        """Joins a left row with the right rows that are from ``lower_bound`` to ``upper_bound`` later than it.

        Raises:
            InvalidConfiguration: the bounds are no times, or in the wrong order.
        """
        lower = millis_of(lower_bound, "the lower bound", least=_ANY)
        upper = millis_of(upper_bound, "the upper bound", least=_ANY)
        return IntervalJoined(self._both, lower, upper)


class IntervalJoined:
    """The join with its bounds, which belong to it unless they are excluded."""

    def __init__(self, both: ConnectedStreams, lower: int, upper: int) -> None:
        if lower > upper:
            raise InvalidConfiguration(
                f"an interval join between {lower} ms and {upper} ms.", "give the lower bound first."
            )
        self._both = both
        self._lower = lower
        self._upper = upper

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Excludes the lower bound."""
        return IntervalJoined(self._both, self._lower + 1, self._upper)

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Excludes the upper bound."""
        return IntervalJoined(self._both, self._lower, self._upper - 1)

    def process(
        self,
        function: ProcessJoinFunction,
        schema: str | StructType,
        *,
        side_outputs: Sequence[OutputTag] = (),
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Calls a function with each pair, when the later of its rows comes; arguments as of ``KeyedStream.process``.

        A row is kept until the watermark says that no partner can come any more. Rows behind the watermark are
        dropped and counted.
        """
        sides = self._both.inputs.first, self._both.inputs.second
        return self._both.process(
            join_function(function, self._lower, self._upper, (sides[0].schema, sides[1].schema)),
            schema,
            side_outputs=side_outputs,
            output_event_time=output_event_time,
            uid=uid,
        )


def join_function(
    function: ProcessJoinFunction, lower: int, upper: int, schemas: tuple[StructType, StructType]
) -> KeyedCoProcessFunction:
    """The function of two inputs that calls ``function`` with their pairs; the bounds are in ms and belong to it.

    Raises:
        InvalidConfiguration: it is no ProcessJoinFunction.
    """
    if not isinstance(function, ProcessJoinFunction):
        what = "the class itself" if isinstance(function, type) else "no ProcessJoinFunction"
        raise InvalidConfiguration(
            f"{function!r}, {what}.", "give an object of a subclass of snapline.ProcessJoinFunction."
        )
    check_synchronous_methods(function, ("open", "close", "process_element"))
    return _Join(function, lower, upper, schemas)


class _Join(KeyedCoProcessFunction):
    """Keeps the rows of both sides by time. A row is deleted when the watermark passes its last possible partner."""

    def __init__(
        self, function: ProcessJoinFunction, lower: int, upper: int, schemas: tuple[StructType, StructType]
    ) -> None:
        self._function = function
        self._lower = lower
        self._upper = upper
        self._schemas = schemas
        self._shown_as = type(function).__name__

    def open(self, ctx: Any) -> None:
        self._function.open(ctx)
        names = "left-buffer", "right-buffer"
        self._buffers: list[MapState[int, list[Any]]] = [
            ctx.get_map_state(MapStateDescriptor[int, Any](name, "long", ArrayType(schema)))
            for name, schema in zip(names, self._schemas, strict=True)
        ]
        self._context = JoinContext()

    def close(self) -> None:
        self._function.close()

    def process_element1(self, row: Any, ctx: Any) -> Iterator[Any] | None:
        context, call = self._context, self._function.process_element
        context.left_timestamp = time = self._enter(row, ctx)

        def pair(right: Any, at: int) -> Any:
            context.right_timestamp = at
            return call(row, right, context)

        return self._join(0, row, time, max(self._upper, 0), (time + self._lower, time + self._upper), pair, ctx)

    def process_element2(self, row: Any, ctx: Any) -> Iterator[Any] | None:
        context, call = self._context, self._function.process_element
        context.right_timestamp = time = self._enter(row, ctx)

        def pair(left: Any, at: int) -> Any:
            context.left_timestamp = at
            return call(left, row, context)

        return self._join(1, row, time, max(-self._lower, 0), (time - self._upper, time - self._lower), pair, ctx)

    def _enter(self, row: Any, ctx: Any) -> int:
        self._context.enter(ctx)
        time = ctx.timestamp()
        if time is None:
            raise ValueError("the row has no time, and an interval join goes by it: leave such rows out before key_by")
        return int(time)

    def _join(
        self,
        side: int,
        row: Any,
        time: int,
        kept: int,
        bounds: tuple[int, int],
        pair: Callable[[Any, int], Any],
        ctx: Any,
    ) -> Iterator[Any] | None:
        mine, other = self._buffers[side], self._buffers[1 - side]
        mine.put(time, [*(mine.get(time) or ()), row])
        ctx.timer_service().register_event_time_timer(time + kept)
        first, last = bounds
        found = [(at, rows) for at, rows in other.items() if first <= at <= last]
        if not found:
            return None
        found.sort(key=lambda each: each[0])
        return (each for at, rows in found for partner in rows or () for each in pair(partner, at) or ())

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self._buffers[0].remove(timestamp - max(self._upper, 0))
        self._buffers[1].remove(timestamp - max(-self._lower, 0))
