"""The result and the side outputs out of one DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.output_tag import OutputTag
from snapline.sink.named_writer import check_names
from snapline.stream.schema import SIDE_OUTPUT

#: Takes the rows of one output of a micro-batch, and its number.
Sink = Callable[[DataFrame, int], Any]


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


def each_output(
    main: Sink | None = None, sides: Mapping[OutputTag | str, Sink] | None = None
) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch`` that hands each output of a micro-batch to a sink of its own.

    The keyed function runs once, however many sinks there are and whatever they do: its rows are kept (in memory, or on
    disk) until all of them are through. A sink that raises fails the micro-batch.

    Args:
        main: gets the rows of the result, and the number of the micro-batch.
        sides: by its tag, gets those of a side output.

    Raises:
        InvalidConfiguration: there is no sink, or two have one name for their markers; or, in the first micro-batch,
            there is no such side output.
    """
    by_tag = dict(sides or {})
    if main is None and not by_tag:
        raise InvalidConfiguration("each_output without a sink.", "give main=, or sides={tag: sink}.")
    check_names([main, *by_tag.values()])

    def write(df: DataFrame, batch: int) -> None:
        outputs = [(side_output(df, tag), sink) for tag, sink in by_tag.items()]
        if main is not None:
            outputs.insert(0, (main_output(df), main))
        df.persist()
        try:
            # All partitions, whatever the sinks read: each has state to commit.
            df.count()
            for rows, sink in outputs:
                sink(rows, batch)
        finally:
            df.unpersist()

    return write


def _sides(df: DataFrame) -> list[str]:
    return [field.name for field in df.schema.fields if (field.metadata or {}).get(SIDE_OUTPUT)]


def _column(df: DataFrame, name: str) -> Any:
    return df["`" + name.replace("`", "``") + "`"]
