"""Streams without a key: from a DataFrame to the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.broadcast import KeyedBroadcastProcessFunction
from snapline.functions.kind import FunctionKind
from snapline.functions.output_tag import OutputTag
from snapline.functions.unkeyed import BroadcastProcessFunction, ProcessFunction
from snapline.stream.broadcasting import BroadcastStream
from snapline.stream.connected import ConnectedStreams
from snapline.stream.frame import check_frame
from snapline.stream.planning import plan_process
from snapline.stream.result import plan_frame
from snapline.stream.two_inputs import Side


def process(
    df: DataFrame,
    function: ProcessFunction,
    schema: str | StructType,
    *,
    parallelism: int | None = None,
    side_outputs: Sequence[OutputTag] = (),
    event_time: str | None = None,
    output_event_time: str | None = None,
    uid: str | None = None,
) -> DataFrame:
    """Runs a function over the rows of a DataFrame, streaming or not, where they are: nothing is shuffled.

    Args:
        df: partition i of its rows goes to partition i mod ``parallelism`` of the function.
        function: with one of the process methods; it is pickled as it is, before ``open``.
        schema: the columns of what it yields.
        parallelism: number of partitions, each with operator state of its own; None: that of the query's other state
            (``spark.sql.shuffle.partitions``). To change it, restore a savepoint.
        side_outputs: what else it emits to; each becomes a nullable struct column, see :func:`side_output`.
        event_time: the column that is the time of a row; without it the one that has a watermark.
        output_event_time: the column of the result that carries the watermark on.
        uid: the name by which a restore finds the state of this operator, wherever it is in the plan. No other
            operator of the query may have it.

    Raises:
        InvalidConfiguration: the function, its states or an argument cannot be.
        FunctionFailed: ``initialize_state`` or ``open`` raised on the driver.
        WrongSparkVersion: Spark runs without the jar.
    """
    frame = check_frame(df, "process")
    plan = plan_process(
        frame.schema,
        (),
        function,
        schema,
        side_outputs=side_outputs,
        event_time=event_time,
        output_event_time=output_event_time,
        kind=FunctionKind.UNKEYED,
        parallelism=parallelism,
        uid=uid,
    )
    return plan_frame(frame, (), (), plan)


@overload
def connect(df: DataFrame, other: BroadcastStream) -> BroadcastConnectedStream: ...
@overload
def connect(df: DataFrame, other: DataFrame) -> ConnectedStreams: ...
def connect(df: DataFrame, other: BroadcastStream | DataFrame) -> BroadcastConnectedStream | ConnectedStreams:
    """A stream without a key beside a broadcast stream, or beside another without a key."""
    frame = check_frame(df, "connect")
    if not isinstance(other, DataFrame):
        return BroadcastConnectedStream(frame, [], [], other)
    second = check_frame(other, "connect")
    return ConnectedStreams(frame, second, (Side.of(frame.schema, (), (), None), Side.of(second.schema, (), (), None)))


class BroadcastConnectedStream:
    """Rows, with keys or without, beside a broadcast stream; what ``connect`` gives."""

    def __init__(self, df: DataFrame, keys: list[str], order: list[str], broadcast: BroadcastStream) -> None:
        if not isinstance(broadcast, BroadcastStream):
            raise InvalidConfiguration(
                f"connect to {type(broadcast).__name__}.", "give snapline.broadcast(df, MapStateDescriptor(...))."
            )
        if broadcast.df.isStreaming and not df.isStreaming:
            raise InvalidConfiguration(
                "a bounded DataFrame beside a broadcast stream that never ends.",
                "let both be streams, or both bounded; a stream beside a bounded broadcast gets all its rows in each "
                "micro-batch.",
            )
        self._df = df
        self._keys = keys
        self._order = order
        self._broadcast = broadcast

    def process(
        self,
        function: KeyedBroadcastProcessFunction | BroadcastProcessFunction,
        schema: str | StructType,
        *,
        parallelism: int | None = None,
        side_outputs: Sequence[OutputTag] = (),
        late_output: OutputTag | str | None = None,
        event_time: str | None = None,
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Runs a function over both. In each micro-batch every partition sees the broadcast rows first.

        Arguments as of ``KeyedStream.process``, without a key as of :func:`process`.
        """
        kind = FunctionKind.KEYED_BROADCAST if self._keys else FunctionKind.UNKEYED_BROADCAST
        plan = plan_process(
            self._df.schema,
            self._keys,
            function,
            schema,
            side_outputs=side_outputs,
            late_output=late_output,
            event_time=event_time,
            output_event_time=output_event_time,
            kind=kind,
            parallelism=parallelism,
            broadcast=self._broadcast.input,
            uid=uid,
        )
        return plan_frame(self._df, self._keys, self._order, plan, self._broadcast)
