"""Drives a function of two keyed inputs: without Spark, and without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import StructType

from snapline.functions.kind import FunctionKind
from snapline.functions.two_inputs import CoFlatMapFunction, CoMapFunction, KeyedCoProcessFunction
from snapline.state.ddl import parse_schema
from snapline.state.row import Row
from snapline.stream.dispatching import function_of_both
from snapline.stream.two_inputs import Side, TwoInputs
from snapline.testing.collected import as_tuples
from snapline.testing.harness import KeyedTestHarness


class KeyedCoTestHarness(KeyedTestHarness):
    """One partition of a function of two keyed inputs. All else is as of :class:`KeyedTestHarness`.

    Args:
        function: the function to test.
        keys: the columns of the key in the first input, and in the second.
        schemas: the schemas of the rows of both.
        output: the schema of what the function yields.
        event_times: the columns that are the time of a row in both.
        order_by: the columns by which the rows of a micro-batch are sorted in both.
        more: further arguments of :class:`KeyedTestHarness`.

    Raises:
        InvalidConfiguration: the inputs do not fit, or the function or an argument cannot be.
    """

    def __init__(
        self,
        function: KeyedCoProcessFunction | CoMapFunction | CoFlatMapFunction,
        *,
        keys: tuple[Sequence[str], Sequence[str]],
        schemas: tuple[str | StructType, str | StructType],
        output: str | StructType,
        event_times: tuple[str, str] | None = None,
        order_by: tuple[Sequence[str], Sequence[str]] = ((), ()),
        **more: Any,
    ) -> None:
        times = event_times or (None, None)
        first, second = (
            Side.of(parse_schema(schema, "the schema of the rows"), [key] if isinstance(key, str) else key, order, time)
            for schema, key, order, time in zip(schemas, keys, order_by, times, strict=True)
        )
        self._inputs = TwoInputs(first, second)
        super().__init__(
            function_of_both(function, FunctionKind.KEYED, self._inputs),  # type: ignore[arg-type]
            key=self._inputs.keys,
            schema=self._inputs.schema,
            output=output,
            event_time=self._inputs.time,
            order_by=self._inputs.order,
            **more,
        )

    def process_batch(self, first: Sequence[Any], second: Sequence[Any] = ()) -> list[Row]:
        """One micro-batch of rows of both inputs, those of the first before those of the second unless ordered."""
        return super().process_batch(self._whole(first, second))

    def process_element1(self, row: Any) -> list[Row]:
        """One micro-batch of one row of the first input."""
        return self.process_batch([row])

    def process_element2(self, row: Any) -> list[Row]:
        """One micro-batch of one row of the second input."""
        return self.process_batch([], [row])

    def process_bounded(self, first: Sequence[Any], second: Sequence[Any] = ()) -> list[Row]:
        """All rows as two bounded DataFrames: at their end every timer fires."""
        return super().process_bounded(self._whole(first, second))

    def _whole(self, first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, ...]]:
        sides = self._inputs.sides
        rows = (as_tuples(given, side.schema.names) for given, side in zip((first, second), sides, strict=True))
        return list(self._inputs.rows(*rows))
