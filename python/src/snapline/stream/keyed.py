"""Keyed streams: from a DataFrame to the operator."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, overload

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.pattern.pattern import Pattern
from snapline.stream.broadcasting import BroadcastStream
from snapline.stream.columns import check_columns, check_ordering, check_same_keys
from snapline.stream.connected import ConnectedStreams
from snapline.stream.frame import check_frame
from snapline.stream.initial_state import OTHER_KEYS, InitialState
from snapline.stream.interval_join import IntervalJoin
from snapline.stream.patterns import PatternStream
from snapline.stream.planning import plan_process
from snapline.stream.process import BroadcastConnectedStream
from snapline.stream.result import plan_frame
from snapline.stream.short_forms import ShortForms
from snapline.stream.two_inputs import Side
from snapline.stream.windowed import WindowedStream
from snapline.window.assigner import WindowAssigner
from snapline.window.counting import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from snapline.worker.job import Job


def key_by(df: DataFrame, *cols: str) -> KeyedStream:
    """Groups the rows of a DataFrame, streaming or not, by columns, for functions with state.

    Raises:
        InvalidConfiguration: it is no DataFrame of Spark, or there is no such column.
    """
    frame = check_frame(df)
    if not cols:
        raise InvalidConfiguration("key_by without columns.", "name at least one.")
    return KeyedStream(frame, check_columns(frame.schema, cols, "key_by"), [])


class KeyedStream(ShortForms):
    """Rows by key; what ``key_by`` gives."""

    def __init__(self, df: DataFrame, keys: list[str], order: list[str]) -> None:
        self._df = df
        self._keys = keys
        self._order = order

    @property
    def schema(self) -> StructType:
        """The columns of the rows."""
        return self._df.schema

    @property
    def key_schema(self) -> list[StructField]:
        """The columns of the key."""
        return [self.schema[name] for name in self._keys]

    def order_by(self, *cols: str) -> KeyedStream:
        """Fixes the order of a key's rows within a micro-batch, at the price of a sort.

        Without it the rows of a key come in whatever order the shuffle delivers them.
        """
        order = check_ordering(self.schema, cols, "order_by")
        ordered = copy(self)
        ordered._order = order
        return ordered

    def process(
        self,
        function: KeyedProcessFunction,
        schema: str | StructType,
        *,
        side_outputs: Sequence[OutputTag] = (),
        late_output: OutputTag | str | None = None,
        event_time: str | None = None,
        output_event_time: str | None = None,
        initial_state: KeyedStream | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Runs a function over the rows of each key.

        Args:
            function: with one of the process methods; it is pickled as it is, before ``open``.
            schema: the columns of what it yields.
            side_outputs: what else it emits to; each becomes a nullable struct column, see :func:`side_output`.
            late_output: a side output for rows older than the watermark, which are dropped otherwise. It has the
                columns of the input.
            event_time: the column that is the time of a row; without it the one that has a watermark.
            output_event_time: the column of the result that carries the watermark on, for a window or another keyed
                function behind this one. A row that is put out older than the watermark fails the query.
            initial_state: a bounded DataFrame by keys of the same types. A new query hands its rows to the function's
                ``process_initial_state`` before the first micro-batch; one that goes on does not read it.
            uid: the name by which a restore finds the state of this operator, wherever it is in the plan. No other
                operator of the query may have it.

        Returns:
            The columns of the schema, then one struct per side output.

        Raises:
            InvalidConfiguration: the function, its states or an argument cannot be.
            FunctionFailed: ``open`` raised on the driver.
            WrongSparkVersion: Spark runs without the jar.
        """
        plan = plan_process(
            self._df.schema,
            self._keys,
            function,
            schema,
            side_outputs=side_outputs,
            late_output=late_output,
            event_time=event_time,
            output_event_time=output_event_time,
            uid=uid,
        )
        initial = None
        if initial_state is not None:
            initial = self._initial(initial_state, function, schema, side_outputs, plan.job)
        return plan_frame(self._df, self._keys, self._order, plan, initial=initial)

    def _initial(
        self,
        state: KeyedStream,
        function: Any,
        output: str | StructType,
        side_outputs: Sequence[OutputTag],
        after: Job,
    ) -> InitialState:
        if not isinstance(state, KeyedStream):
            raise InvalidConfiguration(
                f"the initial state {state!r}.", 'give snapline.key_by(df, "key") of a bounded DataFrame.'
            )
        check_same_keys(self.key_schema, state.key_schema, OTHER_KEYS)
        return InitialState.of(state._df, state._keys, function, output, side_outputs, after)

    def window(self, assigner: WindowAssigner[Any], *, event_time: str | None = None) -> WindowedStream:
        """Puts the rows of each key into windows.

        Args:
            assigner: says which, as ``snapline.window.TumblingEventTimeWindows.of(timedelta(minutes=5))``.
            event_time: the column that is the time of a row; without it the one that has a watermark.

        Raises:
            InvalidConfiguration: it is none, or its windows go by a time that rows do not have.
        """
        return WindowedStream(self, assigner, event_time)

    def count_window(self, size: int, slide: int | None = None) -> WindowedStream:
        """Puts so many rows of each key into a window; another window begins every ``slide`` rows."""
        if slide is None:
            return self.window(CountTumblingWindowAssigner(size))
        return self.window(CountSlidingWindowAssigner(size, slide))

    def pattern(self, pattern: Pattern, *, event_time: str | None = None) -> PatternStream:
        """Looks for a pattern in the rows of each key.

        Args:
            pattern: as ``snapline.pattern.Pattern.begin("first").where(...).followed_by("then").where(...)``.
            event_time: the column that is the time of a row; without it the one that has a watermark. Without either
                rows are taken in the order in which they come.

        Raises:
            InvalidConfiguration: it is no pattern, or one that cannot match or never ends.
        """
        return PatternStream(self, pattern, event_time)

    @overload
    def connect(self, other: BroadcastStream) -> BroadcastConnectedStream: ...
    @overload
    def connect(self, other: KeyedStream) -> ConnectedStreams: ...
    def connect(self, other: BroadcastStream | KeyedStream) -> BroadcastConnectedStream | ConnectedStreams:
        """The same stream beside another: one by keys of the same type, or one whose rows every partition sees.

        Raises:
            InvalidConfiguration: it is none, or the two do not fit.
        """
        if isinstance(other, KeyedStream):
            return ConnectedStreams(self._df, other._df, (self._side, other._side))
        return BroadcastConnectedStream(self._df, self._keys, self._order, other)

    def interval_join(self, other: KeyedStream) -> IntervalJoin:
        """Joins the rows of each key with those of another stream, by how far apart their times are.

        Raises:
            InvalidConfiguration: the two do not fit, or rows have no time.
        """
        return IntervalJoin(self.connect(other))

    @property
    def _side(self) -> Side:
        return Side.of(self.schema, self._keys, self._order, None)
