"""Short forms over keyed state: each is a keyed function made for the purpose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.process import KeyedProcessFunction
from snapline.functions.rich import FilterFunction, FlatMapFunction, MapFunction
from snapline.state.aggregate import AggregateFunction, ReduceFunction
from snapline.state.ddl import parse_schema
from snapline.state.ttl import StateTtlConfig
from snapline.state.types import StateType
from snapline.stream.columns import check_columns, check_ordering
from snapline.stream.fields import Chosen, FieldReduce, Kept, Sum
from snapline.stream.folding import Emit, aggregation, reduction
from snapline.stream.last import Last
from snapline.stream.rich import rich
from snapline.stream.top_n import TopN


class ShortForms(ABC):
    """Calls over rows by key that need no function with state."""

    @property
    @abstractmethod
    def schema(self) -> StructType:
        """The columns of the rows."""

    @property
    @abstractmethod
    def key_schema(self) -> list[StructField]:
        """The columns of the key."""

    @abstractmethod
    def process(self, function: KeyedProcessFunction, schema: str | StructType, *, uid: str | None = None) -> DataFrame:
        """Runs a function over the rows of each key."""

    def map(
        self, function: MapFunction | Callable[[Any], Any], schema: str | StructType, *, uid: str | None = None
    ) -> DataFrame:
        """One row of the output, or none, for each row. A MapFunction may ask for state of the key in ``open``."""
        return self.process(rich(function, "map"), schema, uid=uid)

    def flat_map(
        self, function: FlatMapFunction | Callable[[Any], Any], schema: str | StructType, *, uid: str | None = None
    ) -> DataFrame:
        """Any number of rows of the output for each row, with state as of :meth:`map`."""
        return self.process(rich(function, "flat_map"), schema, uid=uid)

    def filter(self, function: FilterFunction | Callable[[Any], bool], *, uid: str | None = None) -> DataFrame:
        """The rows that a function keeps, with state as of :meth:`map`."""
        return self.process(rich(function, "filter"), self.schema, uid=uid)

    def sum(self, field: str, *, emit: Emit = "per_element", uid: str | None = None) -> DataFrame:
        """The first row of each key with the sum of a column so far; nulls are left out of it."""
        return self._of_field(Sum, field, emit, uid)

    def min(self, field: str, *, emit: Emit = "per_element", uid: str | None = None) -> DataFrame:
        """The first row of each key with the least value of a column so far."""
        return self._of_field(Kept.least, field, emit, uid)

    def max(self, field: str, *, emit: Emit = "per_element", uid: str | None = None) -> DataFrame:
        """The first row of each key with the greatest value of a column so far."""
        return self._of_field(Kept.greatest, field, emit, uid)

    def min_by(self, field: str, *, emit: Emit = "per_element", uid: str | None = None) -> DataFrame:
        """The row of each key that has the least value of a column so far, of several the first."""
        return self._of_field(Chosen.least, field, emit, uid)

    def max_by(self, field: str, *, emit: Emit = "per_element", uid: str | None = None) -> DataFrame:
        """The row of each key that has the greatest value of a column so far, of several the first."""
        return self._of_field(Chosen.greatest, field, emit, uid)

    def _of_field(self, make: Callable[[int], FieldReduce], field: str, emit: Emit, uid: str | None) -> DataFrame:
        (name,) = check_columns(self.schema, [field], "a function of a column")
        return self.reduce(make(self.schema.names.index(name)), emit=emit, uid=uid)

    def last(self, by: str, *, ttl: StateTtlConfig | None = None, uid: str | None = None) -> DataFrame:
        """The newest row of each key, put out whenever there is a newer one; nothing of Python runs for a row.

        Args:
            by: the column that says which row is newer, such as a time; the later of two rows with equal
                values. Rows in which it is null or NaN are passed over.
            ttl: how long the state of a key lives, which is one value of that column; None: for ever.
            uid: as of :meth:`process`.
        """
        (name,) = self._sorted_by([by], "last")
        function = Last(self.schema.names.index(name), self.schema[name].dataType, ttl)
        return self.process(function, self.schema, uid=uid)

    def top_n(
        self,
        n: int,
        by: str | Sequence[str],
        *,
        descending: bool = True,
        rank: str = "rank",
        ttl: StateTtlConfig | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """The first rows of each key with their ranks; nothing of Python runs for a row.

        A row is put out when it gets a rank, and again for each other rank it gets: a sink that keeps the newest row
        for each key and rank has the first ``n``.

        Args:
            n: how many.
            by: the columns that order them. Rows with a null or NaN there come last, of equal rows the later.
            descending: whether the greatest value comes first.
            rank: the name of the first column of the result: 1 to ``n``.
            ttl: how long the rows of a key live; None: for ever.
            uid: as of :meth:`process`.
        """
        if type(n) is not int or n < 1:
            raise InvalidConfiguration(f"top_n of {n!r}.", "give a whole number of at least 1.")
        names = self._sorted_by([by] if isinstance(by, str) else by, "top_n")
        if not names or rank in self.schema.names:
            found = f"a rank named {rank}, as a column is" if names else "top_n by no column"
            raise InvalidConfiguration(f"{found}.", "name at least one column in by=, and another rank in rank=.")
        function = TopN(n, [self.schema.names.index(name) for name in names], descending, self.schema, ttl)
        columns = [StructField(rank, IntegerType(), False), *self.schema.fields]
        return self.process(function, StructType(columns), uid=uid)

    def _sorted_by(self, names: Sequence[str], what: str) -> list[str]:
        """Columns that Arrow can sort by."""
        for name in (columns := check_ordering(self.schema, names, what)):
            kind = self.schema[name].dataType
            if isinstance(kind, (ArrayType, StructType)):
                raise InvalidConfiguration(
                    f"{what} by {name}, which is of type {kind.simpleString()}.", "name columns of simple types."
                )
        return columns

    def reduce(
        self,
        function: Callable[[Any, Any], Any] | ReduceFunction[Any],
        *,
        emit: Emit = "per_element",
        uid: str | None = None,
    ) -> DataFrame:
        """Reduces the rows of each key: the function makes one row of what it has and a new one.

        Args:
            function: takes two rows; it gives a row, tuple or dict with the columns of the input.
            emit: the reduced row for each row, as Flink does, or once ``per_batch`` for each key of a micro-batch.
            uid: as of :meth:`process`.
        """
        return self.process(reduction(function, self.schema, emit), self.schema, uid=uid)

    def aggregate(
        self,
        function: AggregateFunction[Any, Any, Any],
        result_type: str | StructType,
        *,
        accumulator_type: StateType,
        emit: Emit = "per_element",
        uid: str | None = None,
    ) -> DataFrame:
        """Aggregates the rows of each key.

        Args:
            function: aggregates the rows.
            result_type: the columns of its result, which come after those of the key. A dict or a row goes into them
                by name, a tuple or a list by position. If it is one column, the result is its value.
            accumulator_type: the type of the accumulator in the store.
            emit: the result for each row, as Flink does, or once ``per_batch`` for each key of a micro-batch.
            uid: as of :meth:`process`.
        """
        results = parse_schema(result_type, "result_type")
        return self.process(
            aggregation(function, accumulator_type, len(self.key_schema), results.names, emit),
            StructType([*self.key_schema, *results.fields]),
            uid=uid,
        )
