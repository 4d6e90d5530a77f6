"""Functions for foreachBatch that find their markers by a name, which no other function of the query may have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from snapline.errors import InvalidConfiguration
from snapline.sink.running_query import RunningQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class NamedWriter(ABC):
    """Writes the micro-batches of one output of a query.

    Two outputs under one name would share their markers: the second one's rows would pass for those that are there.
    That cannot be seen before the query runs, unless :func:`check_names` is given both. A name says nothing by itself,
    for several queries may have it.

    Attributes:
        naming: the call that gives a name, for errors.
        place: the name, with all else by which writers of one query find markers of their own.
    """

    naming: ClassVar[str]

    def __init__(self, name: str, own: object, where: str = "") -> None:
        """
        Args:
            own: a function or sink. Writers whose ``own`` are equal are one, however often it is wrapped.
            where: the place of the markers, if names count in it alone.
        """
        self.name = name
        self.place = (type(self).__name__, where, name)
        self._own = own

    def __call__(self, df: DataFrame, batch: int) -> None:
        query = RunningQuery.of(df)
        with self._alone(query, batch, _rows_of(df)):
            self._write(df, batch, query)

    @abstractmethod
    def _write(self, df: DataFrame, batch: int, query: RunningQuery) -> None:
        """Writes the rows of a micro-batch, unless they are there."""

    @contextmanager
    def _alone(self, query: RunningQuery, batch: int, rows: int) -> Iterator[None]:
        """Refuses a batch that another writer has handled in this run. A writer that fails has not handled it."""
        key = (query.id, *self.place)
        before, now = _newest.get(key), _Handled(query.run, batch, self._own, rows)
        if before is not None and (before.run, before.batch) == (now.run, now.batch):
            _refuse_other(before, now, self.name, self.naming)
        _newest[key] = now
        try:
            yield
        except BaseException:
            if before is None:
                del _newest[key]
            else:
                _newest[key] = before
            raise


@dataclass(frozen=True)
class _Handled:
    """``rows`` as :func:`_rows_of` has them."""

    run: str
    batch: int
    own: Any
    rows: int


# By query and place, the newest batch in this process. A query's batches come one after the other.
_newest: dict[tuple[str, ...], _Handled] = {}


def _refuse_other(before: _Handled, now: _Handled, name: str, naming: str) -> None:
    """The batch was handled under that name. Again by the same function for the same rows, it is passed over."""
    again = f"batch {now.batch} is written a second time as {name} in one run of the query"
    first, second = _title(before.own), _title(now.own)
    if before.own != now.own:
        raise InvalidConfiguration(
            f"{again}: by {first}, and now by {second}.",
            f"leave {first} its name, for it has the batch; give {second} a name of its own: {naming}.",
        )
    if before.rows != now.rows:
        raise InvalidConfiguration(
            f"{again}, by {first}, from another DataFrame, whose rows would be passed over.",
            f"give each DataFrame that {first} gets of a batch a name of its own: {naming}.",
        )


def _rows_of(df: DataFrame) -> int:
    """Equal for DataFrames of the same plan over the same rows of a micro-batch."""
    java: Any = df._jdf
    return int(java.queryExecution().analyzed().semanticHash())


def check_names(functions: Iterable[object]) -> None:
    """Refuses functions for the outputs of one query that would share their markers.

    Raises:
        InvalidConfiguration: two of them have one name.
    """
    found: set[tuple[str, ...]] = set()
    for function in functions:
        if isinstance(function, NamedWriter):
            if function.place in found:
                raise InvalidConfiguration(
                    f"two outputs of one query are written as {function.name}.",
                    f"give each a name of its own: {function.naming}.",
                )
            found.add(function.place)


def _title(own: object) -> str:
    return str(getattr(own, "__qualname__", type(own).__name__))
