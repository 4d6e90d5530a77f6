"""The changes between two savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snapline.savepoint.read import read_state

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType


def diff(
    before: str,
    after: str,
    operator: int | str | None = None,
    state: str | None = None,
    *,
    session: SparkSession | None = None,
) -> DataFrame:
    """The entries of a state that are not the same.

    A row for each: ``change`` (``added``, ``removed``, ``changed``), ``key``, and the values ``before`` and ``after``.

    Args:
        before: a savepoint or a checkpointLocation, and so is ``after``. Their parallelisms may differ.
        operator: as for :func:`read_state`, and so is ``state``.

    Raises: as :func:`read_state`.
    """
    from pyspark.sql import functions as F

    tables = [read_state(path, operator, state, session=session) for path in (before, after)]
    old, new = (
        table.select("key", F.col("value").alias(name), F.lit(1).alias(there))
        for table, name, there in zip(tables, ("before", "after"), ("was", "is"), strict=True)
    )
    # A key may have a column that is null.
    both = old.withColumnRenamed("key", "old_key").join(new, F.col("old_key").eqNullSafe(F.col("key")), "full")
    change = F.when(F.col("was").isNull(), "added").when(F.col("is").isNull(), "removed").otherwise("changed")
    values = (
        _comparable(F.col(name), table.schema["value"].dataType)
        for table, name in zip(tables, ("before", "after"), strict=True)
    )
    differ = F.col("was").isNull() | F.col("is").isNull() | ~next(values).eqNullSafe(next(values))
    key = F.coalesce("key", "old_key").alias("key")
    return both.where(differ).select(change.alias("change"), key, "before", "after")


def _comparable(column: Column, kind: DataType) -> Column:
    """Equal where the values are: Spark compares neither maps, which have no order, nor variants."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    if isinstance(kind, MapType):
        value = kind.valueType
        entries = F.transform(
            F.map_entries(column),
            lambda entry: F.struct(entry["key"].alias("key"), _comparable(entry["value"], value).alias("value")),
        )
        return F.array_sort(entries)
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(column, lambda each: _comparable(each, element))
    if isinstance(kind, StructType):
        fields = [_comparable(column.getField(field.name), field.dataType).alias(field.name) for field in kind]
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(kind, VariantType):
        return F.to_json(column)
    return column
