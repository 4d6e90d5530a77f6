"""A keyed stream without a DataFrame, for harnesses of what is built on one: windows, reduce, aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from pyspark.sql.types import StructField, StructType

from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.stream.columns import WATERMARK, check_columns, event_time_of
from snapline.stream.keyed import KeyedStream


class SchemaStream(KeyedStream):
    """Rows of a schema by key. ``process`` gives the arguments that a harness is made with."""

    def __init__(self, schema: StructType, key: Sequence[str], event_time: str | None) -> None:
        time = event_time and event_time_of(schema, event_time)
        fields = [
            StructField(field.name, field.dataType, field.nullable, {WATERMARK: 0} if field.name == time else None)
            for field in schema.fields
        ]
        frame: Any = SimpleNamespace(schema=StructType(fields))
        super().__init__(frame, check_columns(schema, key, "key_by"), [])

    def process(  # type: ignore[override]
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
    ) -> dict[str, Any]:
        late = late_output.name if isinstance(late_output, OutputTag) else late_output
        return {
            "function": function,
            "output": schema,
            "order_by": self._order,
            "side_outputs": side_outputs,
            "late_output": late,
        }
