"""The result and the side outputs out of one DataFrame."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.output_tag import OutputTag
from snapline.stream.schema import SIDE_OUTPUT


def side_output(df: DataFrame, tag: OutputTag | str) -> DataFrame:
    """The rows of a side output, with the columns of its schema.

    Raises:
        InvalidConfiguration: the DataFrame is no result of ``process`` with this side output.
    """
    name = tag.name if isinstance(tag, OutputTag) else tag
    if name not in _sides(df):
        raise InvalidConfiguration(
            f"no side output {name} among the columns {', '.join(df.columns)}.",
            "give process() the tag in side_outputs, and its result to side_output().",
        )
    column = _column(df, name)
    kind = df.schema[name].dataType
    assert isinstance(kind, StructType)
    rows = df.where(column.isNotNull())
    return rows.select(*(_column(df, name).getField(field).alias(field) for field in kind.names))


def main_output(df: DataFrame) -> DataFrame:
    """The rows of the result itself, without the columns of the side outputs."""
    sides = _sides(df)
    if not sides:
        return df
    rows = df.where(reduce(and_, (_column(df, name).isNull() for name in sides)))
    return rows.drop(*sides)


def _sides(df: DataFrame) -> list[str]:
    return [field.name for field in df.schema.fields if (field.metadata or {}).get(SIDE_OUTPUT)]


def _column(df: DataFrame, name: str) -> Any:
    return df["`" + name.replace("`", "``") + "`"]
