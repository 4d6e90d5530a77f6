"""Columns of the input, found by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from snapline.errors import InvalidConfiguration
from snapline.state.types import check_order

#: Where Spark notes the delay of a watermark: in the metadata of its column.
WATERMARK = "spark.watermarkDelayMs"


def check_columns(schema: StructType, names: Sequence[Any], what: str) -> list[str]:
    """Names as the schema writes them; Spark does not mind their case.

    Raises:
        InvalidConfiguration: one is no column, or there is another of the same name.
    """
    found: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise InvalidConfiguration(f"{what} by {name!r}.", "give names of columns; make others with withColumn().")
        matches = [each for each in schema.names if each == name] or [
            each for each in schema.names if each.lower() == name.lower()
        ]
        if len(matches) != 1:
            problem = "no column" if not matches else "not one column but several"
            raise InvalidConfiguration(
                f"{what} by {name}, which is {problem}.", f"use one of {', '.join(schema.names)}."
            )
        found.append(matches[0])
    return found


def event_time_of(schema: StructType, wanted: str | None) -> str | None:
    """The column that is the time of a row: the one asked for, or the one with a watermark.

    Raises:
        InvalidConfiguration: the one asked for is no time stamp, or it has no time zone.
    """
    if wanted is not None:
        (name,) = check_columns(schema, [wanted], "event_time")
        return _time_stamp(schema[name])
    for field in schema.fields:
        if WATERMARK in (field.metadata or {}) and isinstance(field.dataType, (TimestampType, TimestampNTZType)):
            return _time_stamp(field)
    return None


def _time_stamp(field: StructField) -> str:
    """The name of a column whose values are instants, as the times of timers and watermarks are."""
    found = f"event_time is {field.name}, of type {field.dataType.simpleString()}."
    if isinstance(field.dataType, TimestampNTZType):
        raise InvalidConfiguration(
            found, f"cast it, before the watermark: withColumn({field.name!r}, col({field.name!r}).cast('timestamp'))."
        )
    if not isinstance(field.dataType, TimestampType):
        raise InvalidConfiguration(found, "use a column of time stamps.")
    return field.name


def check_ordering(schema: StructType, names: Sequence[str], what: str) -> list[str]:
    """Columns that order rows.

    Raises:
        InvalidConfiguration: there is no such column, or its type has no order.
    """
    columns = check_columns(schema, names, what)
    for name in columns:
        kind = schema[name].dataType
        check_order(kind, f"{what} by {name}, which is of type {kind.simpleString()}")
    return columns


def check_same_keys(first: Sequence[StructField], second: Sequence[StructField], found: str) -> None:
    """
    Args:
        first: the columns of a key.
        second: those of the other's.
        found: the error's text, with ``{0}`` and ``{1}`` for the types of both.

    Raises:
        InvalidConfiguration: the types are not the same.
    """
    kinds = [[field.dataType for field in side] for side in (first, second)]
    if kinds[0] != kinds[1]:
        texts = [", ".join(kind.simpleString() for kind in side) or "none" for side in kinds]
        raise InvalidConfiguration(
            found.format(*texts), "bring the columns into one type with withColumn() before key_by."
        )
