"""Windows of a whole stream: one key, and so one task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from snapline.functions.context import Context, RuntimeContext
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.state.row import Row, row_maker
from snapline.stream.frame import check_frame
from snapline.stream.keyed import KeyedStream
from snapline.stream.windowed import WindowedStream
from snapline.window.assigner import WindowAssigner
from snapline.window.functions import AllWindowFunction, ProcessAllWindowFunction
from snapline.window.operator import WindowOperator

#: The key of all rows, behind their columns. No function sees it.
_ALL = "__all"


def window_all(df: DataFrame, assigner: WindowAssigner[Any], *, event_time: str | None = None) -> AllWindowedStream:
    """Puts all rows of a stream into windows, whatever their key: in one task.

    Args:
        df: the rows, streaming or not.
        assigner: as of ``KeyedStream.window``; so is ``event_time``.

    Raises:
        InvalidConfiguration: it is no DataFrame of Spark, or no assigner, or windows go by a time that rows
            do not have.
    """
    frame = check_frame(df, "window_all")
    return AllWindowedStream(AllStream(KeyedStream(frame.withColumn(_ALL, F.lit(0)), [_ALL], [])), assigner, event_time)


class AllStream:
    """A stream under one key."""

    def __init__(self, keyed: KeyedStream) -> None:
        self._keyed = keyed

    @property
    def schema(self) -> StructType:
        return StructType(self._keyed.schema.fields[:-1])

    @property
    def key_schema(self) -> list[StructField]:
        return []

    def process(
        self,
        function: KeyedProcessFunction,
        schema: str | StructType,
        *,
        side_outputs: Sequence[OutputTag] = (),
        late_output: OutputTag | str | None = None,
        event_time: str | None = None,
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        return self._keyed.process(
            function,
            schema,
            side_outputs=side_outputs,
            late_output=late_output,
            event_time=event_time,
            output_event_time=output_event_time,
            uid=uid,
        )


class AllWindowOperator(WindowOperator):
    """The window operator for rows with the key behind them."""

    def open(self, ctx: RuntimeContext) -> None:
        super().open(ctx)
        self._make: Any = None

    def process_element(self, row: Row, ctx: Context) -> list[Any] | None:
        if self._make is None:
            self._make = row_maker(row.__fields__[:-1])
        return super().process_element(self._make(row[:-1]), ctx)


class AllWindowedStream(WindowedStream):
    """Rows by window alone; what ``window_all`` gives. All is as of a keyed stream, but that there is no key.

    Functions are a ``ProcessAllWindowFunction`` or an ``AllWindowFunction``.
    """

    operator = AllWindowOperator
    functions = (ProcessAllWindowFunction, AllWindowFunction)
