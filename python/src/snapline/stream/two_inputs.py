"""Two inputs as one: each row is a struct of the columns of its input, and null where the other's are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.kind import FunctionKind
from snapline.functions.process import KeyedProcessFunction, check_synchronous_methods
from snapline.functions.two_inputs import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from snapline.functions.unkeyed import ProcessFunction
from snapline.stream.columns import check_columns, event_time_of
from snapline.stream.schema import nullable

#: The columns of the whole. A user sees none of them.
FIRST, SECOND, TIME, ORDERS = "__first", "__second", "__time", ("__order_first", "__order_second")


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
        kinds = [[side.schema[name].dataType for name in side.keys] for side in (self.first, self.second)]
        if kinds[0] != kinds[1]:
            texts = [", ".join(kind.simpleString() for kind in side) or "none" for side in kinds]
            raise InvalidConfiguration(
                f"two inputs whose keys are of the types {texts[0]} and {texts[1]}.",
                "bring the columns into one type with withColumn() before key_by.",
            )
        if (self.first.time is None) != (self.second.time is None):
            raise InvalidConfiguration(
                "two inputs of which one has a column that is the time of a row, and the other has none.",
                "give both a watermark (withWatermark) before they are connected, or neither.",
            )

    @property
    def keys(self) -> tuple[str, ...]:
        return self.first.keys

    @property
    def time(self) -> str | None:
        return None if self.first.time is None else TIME

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
        fields += [StructField(FIRST, nullable(self.first.schema)), StructField(SECOND, nullable(self.second.schema))]
        if self.first.time is not None:
            time = self.first.schema[self.first.time]
            fields.append(StructField(TIME, time.dataType, True, time.metadata))
        for name, side in zip(ORDERS, (self.first, self.second), strict=True):
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
        return self._select(first, True).union(self._select(second, False))

    def _select(self, df: DataFrame, is_first: bool) -> DataFrame:
        side = self.first if is_first else self.second
        columns = [_column(name).alias(of) for name, of in zip(side.keys, self.keys, strict=True)]
        for name, mine in ((FIRST, is_first), (SECOND, not is_first)):
            kind = nullable((self.first if name == FIRST else self.second).schema)
            columns.append((_struct(df.columns) if mine else F.lit(None)).cast(kind).alias(name))
        if side.time is not None:
            columns.append(_column(side.time).alias(TIME))
        for name, other, mine in zip(ORDERS, (self.first, self.second), (is_first, not is_first), strict=True):
            if other.order:
                struct = _struct(other.order) if mine else F.lit(None)
                columns.append(struct.cast(nullable(other.ordered())).alias(name))
        return df.select(*columns)

    def rows(self, first: Iterable[Sequence[Any]], second: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """Rows of both as rows of the whole, those of the first input first."""
        for is_first, rows in ((True, first), (False, second)):
            side = self.first if is_first else self.second
            at = side.schema.names.index
            for row in rows:
                values = [row[at(name)] for name in side.keys] + ([row, None] if is_first else [None, row])
                if side.time is not None:
                    values.append(row[at(side.time)])
                for other, mine in ((self.first, is_first), (self.second, not is_first)):
                    if other.order:
                        values.append(tuple(row[at(name)] for name in other.order) if mine else None)
                yield tuple(values)


def _column(name: str) -> Any:
    return F.col("`" + name.replace("`", "``") + "`")


def _struct(names: Sequence[str]) -> Any:
    return F.struct(*(_column(name) for name in names))


def function_of_both(function: Any, kind: FunctionKind, at: int) -> KeyedProcessFunction | ProcessFunction:
    """A function of the rows of the whole, in which those of the first input are column number ``at``.

    Raises:
        InvalidConfiguration: it is no function of two inputs of this kind.
    """
    base = KeyedCoProcessFunction if kind.is_keyed else CoProcessFunction
    if not isinstance(function, (base, CoMapFunction, CoFlatMapFunction)):
        what = "the class itself" if isinstance(function, type) else f"no {base.__name__}"
        raise InvalidConfiguration(f"{function!r}, {what}.", f"give an object of a subclass of {base.__name__}.")
    methods = ("open", "close", "process_element1", "process_element2", "on_timer", "map1", "map2")
    check_synchronous_methods(function, (*methods, "flat_map1", "flat_map2"))
    return _Keyed(function, at) if kind.is_keyed else _Unkeyed(function, at)


class _Dispatch:
    """Hands each row to the method for its input."""

    def __init__(self, function: Any, at: int) -> None:
        self._function = function
        self._at = at
        self._shown_as: str | None = getattr(function, "_shown_as", None) or type(function).__name__
        self.takes_late_rows = getattr(function, "takes_late_rows", False)

    def open(self, ctx: Any) -> None:
        function = self._function
        function.open(ctx)
        if isinstance(function, CoMapFunction):
            one, two = function.map1, function.map2
            self._one: Any = lambda row, ctx: _rows(one(row))
            self._two: Any = lambda row, ctx: _rows(two(row))
        elif isinstance(function, CoFlatMapFunction):
            many_one, many_two = function.flat_map1, function.flat_map2
            self._one, self._two = (lambda row, ctx: many_one(row)), (lambda row, ctx: many_two(row))
        else:
            self._one, self._two = function.process_element1, function.process_element2

    def close(self) -> None:
        self._function.close()

    def process_element(self, row: Any, ctx: Any) -> Iterable[Any] | None:
        first = row[self._at]
        if first is not None:
            return self._one(first, ctx)  # type: ignore[no-any-return]
        return self._two(row[self._at + 1], ctx)  # type: ignore[no-any-return]


class _Unkeyed(_Dispatch, ProcessFunction):
    pass


class _Keyed(_Dispatch, KeyedProcessFunction):
    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any] | None:
        return self._function.on_timer(timestamp, ctx)  # type: ignore[no-any-return]


def _rows(row: Any) -> tuple[Any, ...]:
    return () if row is None else (row,)
