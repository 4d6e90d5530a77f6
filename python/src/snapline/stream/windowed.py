"""Keyed streams in windows: from an assigner to the operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType, TimestampType

from snapline.errors import InvalidConfiguration
from snapline.functions.output_tag import OutputTag
from snapline.state.aggregate import AggregateFunction, ReduceFunction
from snapline.state.ddl import parse_schema
from snapline.state.types import StateType
from snapline.stream.by_key import Keyed
from snapline.stream.columns import check_columns, event_time_of
from snapline.stream.fields import Chosen, FieldReduce, Kept, Sum
from snapline.stream.window_checks import check_function, check_trigger, check_windows
from snapline.window.assigner import WindowAssigner
from snapline.window.contents import Contents, FoldedContents, RowContents
from snapline.window.evictors import Evictor
from snapline.window.firing import AnyWindowFunction, EvictingFiring, Firing, Output, OutputOfFunction, ResultOutput
from snapline.window.folding import Fold, aggregating, reducing
from snapline.window.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from snapline.window.operator import Windowing, WindowOperator
from snapline.window.shortcuts import rest_of
from snapline.window.span import Span, millis_of
from snapline.window.trigger import Trigger
from snapline.window.windows import TimeWindow

if TYPE_CHECKING:
    from typing_extensions import Self

_WINDOW = (StructField("window_start", TimestampType()), StructField("window_end", TimestampType()))


@dataclass(frozen=True)
class _Options:
    trigger: Trigger | None = None
    evictor: Evictor | None = None
    lateness: int = 0
    late_output: OutputTag | None = None


class WindowedStream:
    """Rows by key and window; what ``KeyedStream.window`` gives.

    Rows are put into windows in the order of the stream: name one with ``order_by`` before ``window`` where it matters.

    Attributes:
        operator: the operator that the stream becomes.
        functions: the classes of functions that a window may have.
    """

    operator: ClassVar[type[WindowOperator]] = WindowOperator
    functions: ClassVar[tuple[type[Any], ...]] = (ProcessWindowFunction, WindowFunction)

    def __init__(
        self, stream: Keyed, assigner: WindowAssigner[Any], event_time: str | None, options: _Options = _Options()
    ) -> None:
        self._stream = stream
        self._rows = stream.schema
        self._assigner = assigner
        self._event_time = event_time_of(self._rows, event_time)
        self._options = options
        check_windows(assigner, self._event_time)

    def _with(self, **changes: Any) -> Self:
        return type(self)(self._stream, self._assigner, self._event_time, replace(self._options, **changes))

    def trigger(self, trigger: Trigger) -> Self:
        """Evaluates windows when this trigger says so, instead of that of the assigner.

        Raises:
            InvalidConfiguration: it is none, or windows merge and it cannot.
        """
        check_trigger(trigger, self._assigner)
        return self._with(trigger=trigger)

    def evictor(self, evictor: Evictor) -> Self:
        """Removes rows before or after a window is evaluated. All rows are kept then, also for an aggregate.

        Raises:
            InvalidConfiguration: it is none.
        """
        if not isinstance(evictor, Evictor):
            raise InvalidConfiguration(f"the evictor {evictor!r}.", "give one, as CountEvictor.of(10).")
        return self._with(evictor=evictor)

    def allowed_lateness(self, time: Span) -> Self:
        """Keeps windows for so long after their end: a row that comes meanwhile evaluates its window once more.

        Raises:
            InvalidConfiguration: it is no time, or windows go by processing time.
        """
        lateness = millis_of(time, "the allowed lateness", least=0)
        if not self._assigner.is_event_time():
            raise InvalidConfiguration(
                f"an allowed lateness of {self._assigner!r}, whose windows do not go by the time of the rows.",
                "leave it out: no row is late there.",
            )
        return self._with(lateness=lateness)

    def side_output_late_data(self, output_tag: OutputTag | str) -> Self:
        """Emits rows that are too late for all their windows to this side output, with the columns of the input."""
        name = output_tag.name if isinstance(output_tag, OutputTag) else output_tag
        return self._with(late_output=OutputTag(name, self._rows))

    # ---- what is done with a window

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        window_function: AnyWindowFunction | None = None,
        output_type: str | StructType | None = None,
        *,
        with_window: bool = False,
        side_outputs: Sequence[OutputTag] = (),
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Reduces the rows of each window to one row as they come; only that is kept.

        Args:
            reduce_function: takes two rows; it gives a row, tuple or dict with the columns of the input.
            window_function: is given the reduced row when the window fires. None: it is the output.
            output_type: the columns that the window function yields.
            with_window: adds the columns ``window_start`` and ``window_end``, where there is no window function.
            side_outputs: what the window function emits to besides.
            output_event_time: as of ``KeyedStream.process``.
            uid: as of ``KeyedStream.process``.

        Returns:
            The columns of ``output_type``, or those of the input.
        """
        fold = reducing(reduce_function, self._rows)
        if window_function is not None:
            output, schema = self._of_function(window_function, output_type)
        else:
            output, schema = ResultOutput(0, with_window, None), self._widened(self._rows, with_window)
        return self._plan(fold, output, schema, side_outputs, output_event_time, uid)

    def aggregate(
        self,
        aggregate_function: AggregateFunction[Any, Any, Any],
        window_function: AnyWindowFunction | None = None,
        output_type: str | StructType | None = None,
        *,
        accumulator_type: StateType,
        with_window: bool = False,
        side_outputs: Sequence[OutputTag] = (),
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Aggregates the rows of each window as they come; only the accumulator is kept.

        Args:
            aggregate_function: aggregates the rows. Windows that merge need its ``merge``.
            window_function: is given the result when the window fires. None: it is the output.
            output_type: the columns that the window function yields, or those of the result.
            accumulator_type: the type of the accumulator in the store.
            with_window: as of :meth:`reduce`; so are the other arguments.

        Returns:
            The columns of ``output_type`` if there is a window function, else those of the key and of the result.
        """
        fold = aggregating(aggregate_function, accumulator_type, self._assigner)
        if window_function is not None:
            output, schema = self._of_function(window_function, output_type)
        else:
            results = parse_schema(_needed(output_type), "output_type")
            keys = self._stream.key_schema
            output = ResultOutput(len(keys), with_window, results.names)
            schema = self._widened(StructType([*keys, *results.fields]), with_window)
        return self._plan(fold, output, schema, side_outputs, output_event_time, uid)

    def process(
        self,
        process_window_function: ProcessWindowFunction | ProcessAllWindowFunction,
        output_type: str | StructType,
        *,
        side_outputs: Sequence[OutputTag] = (),
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Calls a function with all rows of a window that fires. All rows are kept; arguments as of :meth:`reduce`."""
        output, schema = self._of_function(process_window_function, output_type)
        return self._plan(None, output, schema, side_outputs, output_event_time, uid)

    def apply(
        self,
        window_function: WindowFunction | AllWindowFunction,
        output_type: str | StructType,
        *,
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """As :meth:`process` with a function that has no context."""
        output, schema = self._of_function(window_function, output_type)
        return self._plan(None, output, schema, (), output_event_time, uid)

    def sum(self, field: str, *, with_window: bool = False, uid: str | None = None) -> DataFrame:
        """The first row of each window with the sum of a column; nulls are left out of it."""
        return self._of_field(Sum, field, with_window, uid)

    def min(self, field: str, *, with_window: bool = False, uid: str | None = None) -> DataFrame:
        """The first row of each window with the least value of a column."""
        return self._of_field(Kept.least, field, with_window, uid)

    def max(self, field: str, *, with_window: bool = False, uid: str | None = None) -> DataFrame:
        """The first row of each window with the greatest value of a column."""
        return self._of_field(Kept.greatest, field, with_window, uid)

    def min_by(self, field: str, *, with_window: bool = False, uid: str | None = None) -> DataFrame:
        """The row of each window that has the least value of a column, of several the first."""
        return self._of_field(Chosen.least, field, with_window, uid)

    def max_by(self, field: str, *, with_window: bool = False, uid: str | None = None) -> DataFrame:
        """The row of each window that has the greatest value of a column, of several the first."""
        return self._of_field(Chosen.greatest, field, with_window, uid)

    def _of_field(
        self, make: Callable[[int], FieldReduce], field: str, with_window: bool, uid: str | None
    ) -> DataFrame:
        (name,) = check_columns(self._rows, [field], "a function of a window")
        return self.reduce(make(self._rows.names.index(name)), with_window=with_window, uid=uid)

    # ---- the operator

    def _of_function(
        self, function: AnyWindowFunction, output_type: str | StructType | None
    ) -> tuple[Output, StructType]:
        check_function(function, self.functions)
        return OutputOfFunction(function), parse_schema(_needed(output_type), "output_type")

    def _widened(self, schema: StructType, with_window: bool) -> StructType:
        if with_window and not issubclass(self._assigner.window_type, TimeWindow):
            raise InvalidConfiguration(
                f"with_window of {self._assigner!r}, whose windows have no start and end.", "leave it out."
            )
        return StructType([*schema.fields, *_WINDOW]) if with_window else schema

    def _plan(
        self,
        fold: Fold | None,
        output: Output,
        schema: StructType,
        side_outputs: Sequence[OutputTag],
        output_event_time: str | None,
        uid: str | None,
    ) -> DataFrame:
        options = self._options
        trigger = options.trigger or self._assigner.get_default_trigger()
        check_trigger(trigger, self._assigner, keeps_rows=fold is None, evictor=options.evictor)
        if options.evictor is None:
            firing = Firing(output)
        else:
            at = None if self._event_time is None else self._rows.names.index(self._event_time)
            firing = EvictingFiring(output, options.evictor, None if fold is None else fold.of_rows, at)
        if fold is None or options.evictor is not None:
            contents: Contents = RowContents(self._rows, fires_by_time=rest_of(trigger) is not None)
        else:
            contents = FoldedContents(fold)
        windowing = Windowing(self._assigner, trigger, contents, firing, options.lateness, options.late_output)
        late = () if options.late_output is None else (options.late_output,)
        return self._stream.process(
            self.operator(windowing, output.name if fold is None else fold.name),
            schema,
            side_outputs=[*side_outputs, *late],
            event_time=self._event_time,
            output_event_time=output_event_time,
            uid=uid,
        )


def _needed(output_type: str | StructType | None) -> str | StructType:
    if output_type is None:
        raise InvalidConfiguration("no output_type.", 'give the columns of the output, such as "count long".')
    return output_type
