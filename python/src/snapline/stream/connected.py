"""Connected streams: two inputs of one function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.functions.kind import FunctionKind
from snapline.functions.output_tag import OutputTag
from snapline.functions.two_inputs import CoFlatMapFunction, CoMapFunction, CoProcessFunction
from snapline.stream.dispatching import function_of_both
from snapline.stream.planning import plan_process
from snapline.stream.result import plan_frame
from snapline.stream.two_inputs import Side, TwoInputs


class ConnectedStreams:
    """Two streams, with keys of one type or both without, which one function sees; what ``connect`` gives.

    The event time is the lower of the two watermarks. State is shared by both inputs.
    """

    def __init__(self, first: DataFrame, second: DataFrame, sides: tuple[Side, Side]) -> None:
        self._first = first
        self._second = second
        self.inputs = TwoInputs(*sides)

    def process(
        self,
        function: CoProcessFunction,
        schema: str | StructType,
        *,
        parallelism: int | None = None,
        side_outputs: Sequence[OutputTag] = (),
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Runs a function over both; arguments as of ``KeyedStream.process``, without a key as of :func:`process`.

        Args:
            function: a ``KeyedCoProcessFunction`` with a key, a ``CoProcessFunction`` without one.
        """
        return self._run(function, schema, parallelism, side_outputs, output_event_time, uid)

    def map(self, function: CoMapFunction, schema: str | StructType, *, uid: str | None = None) -> DataFrame:
        """One row of the output, or none, for each row; with a key ``open`` may ask for state."""
        return self._run(function, schema, None, (), None, uid)

    def flat_map(self, function: CoFlatMapFunction, schema: str | StructType, *, uid: str | None = None) -> DataFrame:
        """Any number of rows of the output for each row; with a key ``open`` may ask for state."""
        return self._run(function, schema, None, (), None, uid)

    def _run(
        self,
        function: Any,
        schema: str | StructType,
        parallelism: int | None,
        side_outputs: Sequence[OutputTag],
        output_event_time: str | None,
        uid: str | None,
    ) -> DataFrame:
        inputs = self.inputs
        kind = FunctionKind.KEYED if inputs.keys else FunctionKind.UNKEYED
        plan = plan_process(
            inputs.schema,
            inputs.keys,
            function_of_both(function, kind, inputs),
            schema,
            side_outputs=side_outputs,
            event_time=inputs.time,
            output_event_time=output_event_time,
            kind=kind,
            parallelism=parallelism,
            uid=uid,
        )
        return plan_frame(inputs.frame(self._first, self._second), list(inputs.keys), inputs.order, plan)
