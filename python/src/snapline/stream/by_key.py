"""Rows by key, as streams over them need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction


class Keyed(Protocol):
    """Rows by key, as ``key_by`` gives them."""

    @property
    def schema(self) -> StructType: ...

    @property
    def key_schema(self) -> list[StructField]: ...

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
    ) -> DataFrame: ...
