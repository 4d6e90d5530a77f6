"""The schema of a keyed process: the result's columns, then one struct per side output."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from snapline.errors import InvalidConfiguration

#: Marks the columns of side outputs, so that they are found again in the result.
SIDE_OUTPUT = "snapline.sideOutput"


def result_schema(columns: StructType, sides: Sequence[tuple[str, StructType]]) -> StructType:
    """Every row is one of the result or of one side output, so all columns can be null.

    Raises:
        InvalidConfiguration: two columns or side outputs have one name.
    """
    names = [*columns.names, *(name for name, _ in sides)]
    twice = sorted({name for name in names if [each.lower() for each in names].count(name.lower()) > 1})
    if twice:
        raise InvalidConfiguration(
            f"the output has {', '.join(twice)} more than once.", "give columns and side outputs different names."
        )
    if not columns.fields:
        raise InvalidConfiguration("an output without columns.", 'give a schema, such as "tail string, total long".')
    fields = [StructField(f.name, nullable(f.dataType), True, f.metadata) for f in columns.fields]
    return StructType(
        [*fields, *(StructField(name, nullable(struct), True, {SIDE_OUTPUT: True}) for name, struct in sides)]
    )


def nullable(kind: DataType) -> DataType:
    """The type with nulls allowed throughout: what Python gives is not checked for them."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, nullable(f.dataType), True, f.metadata) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(nullable(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(nullable(kind.keyType), nullable(kind.valueType), True)
    return kind
