"""Data frames of Arrow, pandas and polars: to the function and from it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pyarrow as pa

from snapline.functions.errors import FunctionFailed
from snapline.functions.process import BatchType
from snapline.functions.zoned import converted, to_naive


def from_batch(batch: pa.RecordBatch, kind: BatchType) -> Any:
    """The batch for ``process_batch``. Time stamps of pandas and polars are naive, in the session's time zone."""
    if kind == "arrow":
        return batch
    columns = [
        to_naive(column) if pa.types.is_timestamp(column.type) and column.type.tz else column
        for column in batch.columns
    ]
    local = pa.Table.from_arrays(columns, names=batch.schema.names)
    if kind == "pandas":
        return local.to_pandas()
    return import_module("polars").from_arrow(local)


def to_table(value: Any) -> pa.Table | None:
    """A data frame as a table; None if it is none."""
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    # Nobody has a frame of a library that nobody imported.
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        # The table of a frame shares its memory, and a frame can be changed in place.
        return pa.Table.from_pandas(value.copy(), preserve_index=False)
    if polars is not None and isinstance(value, polars.DataFrame):
        return value.to_arrow()
    return None


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly these columns: found by name if all names are there, else by position.

    Raises:
        FunctionFailed: there are others, or a type cannot be made into the wanted one.
    """
    if set(table.schema.names) == set(schema.names):
        table = table.select(schema.names)
    elif table.num_columns != len(schema):
        raise FunctionFailed(
            f"a data frame with the columns {', '.join(table.schema.names)}, where {', '.join(schema.names)} belong.",
            "give the columns of the output.",
        )
    columns = [_cast(column, field) for column, field in zip(table.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    try:
        return pa.chunked_array([converted(chunk, field.type) for chunk in column.chunks], field.type)
    except pa.ArrowException as e:
        raise FunctionFailed(
            f"column {field.name} is of type {field.type}, and was given {column.type} ({e}).",
            "give values of that type, or change the type.",
        ) from e
