"""Two inputs as one: each row has the columns of both, and null where the other's are.

Columns that both have, those of the key and of the time, are there once. A struct for each input would be simpler, and
costs a sixth of a row's CPU (``bench/run two-inputs``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructField, StructType

from snapline.errors import InvalidConfiguration
from snapline.state.row import row_maker
from snapline.stream.columns import check_columns, check_same_keys, event_time_of
from snapline.stream.schema import nullable

#: Columns of the whole, of which a user sees none: which input a row is of, its time, and what sorts it.
SECOND, TIME, ORDERS = "__second", "__time", ("__order_first", "__order_second")
_PREFIXES = ("__1_", "__2_")


@dataclass(frozen=True)
class Side:
    """One input.

    Attributes:
        schema: its columns.
        keys: the columns of its key; none without one.
        order: the columns that its rows are sorted by within a key and micro-batch.
        time: the column that is the time of a row.
    """

    schema: StructType
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    time: str | None = None

    @classmethod
    def of(cls, schema: StructType, keys: Sequence[str], order: Sequence[str], event_time: str | None) -> Side:
        """
        Raises:
            InvalidConfiguration: there is no such column.
        """
        keys = check_columns(schema, keys, "key_by")
        return cls(schema, tuple(keys), tuple(order), event_time_of(schema, event_time))

    def ordered(self) -> StructType:
        return StructType([self.schema[name] for name in self.order])


@dataclass(frozen=True)
class TwoInputs:
    """Both inputs, checked to fit."""

    first: Side
    second: Side

    def __post_init__(self) -> None:
        first, second = ([side.schema[name] for name in side.keys] for side in self.sides)
        check_same_keys(first, second, "two inputs whose keys are of the types {0} and {1}.")
        if (self.first.time is None) != (self.second.time is None):
            raise InvalidConfiguration(
                "two inputs of which one has a column that is the time of a row, and the other has none.",
                "give both a watermark (withWatermark) before they are connected, or neither.",
            )

    @property
    def keys(self) -> tuple[str, ...]:
        return self.first.keys

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.first, self.second

    @property
    def time(self) -> str | None:
        return None if self.first.time is None else TIME

    def _columns(self, number: int) -> dict[str, str]:
        """The columns of an input, and for each the column of the whole that it is in."""
        side = self.sides[number]
        found = {}
        for field in side.schema.fields:
            found[field.name] = f"{_PREFIXES[number]}{field.name}"
            if field.name in side.keys:
                found[field.name] = self.keys[side.keys.index(field.name)]
            elif field.name == side.time and field.dataType == self.first.schema[str(self.first.time)].dataType:
                found[field.name] = TIME
        return found

    def _own(self, number: int) -> list[StructField]:
        """The columns of an input that the other lacks, with their names in the whole."""
        columns, schema = self._columns(number), self.sides[number].schema
        prefix = _PREFIXES[number]
        return [
            StructField(columns[field.name], nullable(field.dataType), True)
            for field in schema.fields
            if columns[field.name].startswith(prefix)
        ]

    def shapes(self) -> tuple[Shape, Shape]:
        """Where in a row of the whole the columns of each input are."""
        names = self.schema.names
        first, second = (
            Shape(tuple(columns), tuple(names.index(name) for name in columns.values()))
            for columns in (self._columns(0), self._columns(1))
        )
        return first, second

    @property
    def order(self) -> list[str]:
        """By time, and then each side by its own columns; none if neither side has an order."""
        if not self.first.order and not self.second.order:
            return []
        orders = [name for name, side in zip(ORDERS, (self.first, self.second), strict=True) if side.order]
        return [*([TIME] if self.time else []), *orders]

    @property
    def schema(self) -> StructType:
        """The columns of the whole."""
        fields = [self.first.schema[name] for name in self.keys]
        if self.first.time is not None:
            time = self.first.schema[self.first.time]
            fields.append(StructField(TIME, time.dataType, True, time.metadata))
        fields += [StructField(SECOND, BooleanType(), False), *self._own(0), *self._own(1)]
        for name, side in zip(ORDERS, self.sides, strict=True):
            if side.order:
                fields.append(StructField(name, nullable(side.ordered())))
        return StructType(fields)

    def frame(self, first: DataFrame, second: DataFrame) -> DataFrame:
        """
        Raises:
            InvalidConfiguration: one is a stream, and the other is not.
        """
        if first.isStreaming != second.isStreaming:
            raise InvalidConfiguration(
                "a stream connected to a bounded DataFrame.", "let both be streams, or both bounded; or broadcast it."
            )
        return self._select(first, 0).union(self._select(second, 1))

    def _select(self, df: DataFrame, number: int) -> DataFrame:
        side = self.sides[number]
        columns = [_column(name).alias(of) for name, of in zip(side.keys, self.keys, strict=True)]
        if side.time is not None:
            columns.append(_column(side.time).alias(TIME))
        columns.append(F.lit(number == 1).alias(SECOND))
        mine = {place: name for name, place in self._columns(number).items()}
        for field in (*self._own(0), *self._own(1)):
            value = _column(mine[field.name]) if field.name in mine else F.lit(None)
            columns.append(value.cast(field.dataType).alias(field.name))
        for at, (name, other) in enumerate(zip(ORDERS, self.sides, strict=True)):
            if other.order:
                struct = _struct(other.order) if at == number else F.lit(None)
                columns.append(struct.cast(nullable(other.ordered())).alias(name))
        return df.select(*columns)

    def rows(self, first: Iterable[Sequence[Any]], second: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """Rows of both as rows of the whole, those of the first input first."""
        names = self.schema.names
        for number, rows in enumerate((first, second)):
            side, columns = self.sides[number], self._columns(number)
            at = side.schema.names.index
            for row in rows:
                values = dict.fromkeys(names) | {columns[name]: row[at(name)] for name in columns}
                values[SECOND] = number == 1
                if side.time is not None:
                    values[TIME] = row[at(side.time)]
                if side.order:
                    values[ORDERS[number]] = tuple(row[at(name)] for name in side.order)
                yield tuple(values.values())


class Shape(NamedTuple):
    """The columns of an input, and their places in a row of the whole."""

    names: tuple[str, ...]
    places: tuple[int, ...]

    def row_of(self) -> Callable[[Any], Any]:
        """Makes a row of the input of one of the whole."""
        make, places = row_maker(self.names), self.places
        if len(places) < 2:
            return lambda row: make([row[place] for place in places])
        get = itemgetter(*places)
        return lambda row: make(get(row))


def _column(name: str) -> Any:
    return F.col("`" + name.replace("`", "``") + "`")


def _struct(names: Sequence[str]) -> Any:
    return F.struct(*(_column(name) for name in names))
