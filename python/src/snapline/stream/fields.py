"""Reduce functions of one column of the rows: sum, least and greatest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from operator import gt, lt
from typing import Any

from snapline.state.aggregate import ReduceFunction
from snapline.state.row import Row


class FieldReduce(ReduceFunction[Any]):
    """Reduces rows by the column number ``field``."""

    def __init__(self, field: int) -> None:
        self._field = field

    @abstractmethod
    def reduce(self, value1: Row, value2: Row) -> Any:
        """One row of two; the first is the older."""


class Sum(FieldReduce):
    """The first row with the sum of both."""

    def reduce(self, value1: Row, value2: Row) -> Any:
        at = self._field
        first, second = value1[at], value2[at]
        if second is None:
            return value1
        return (*value1[:at], second if first is None else first + second, *value1[at + 1 :])


class Kept(FieldReduce):
    """The first row with the better value of the two."""

    def __init__(self, field: int, better: Callable[[Any, Any], bool]) -> None:
        super().__init__(field)
        self._better = better

    @classmethod
    def least(cls, field: int) -> Kept:
        return cls(field, lt)

    @classmethod
    def greatest(cls, field: int) -> Kept:
        return cls(field, gt)

    def reduce(self, value1: Row, value2: Row) -> Any:
        at = self._field
        if not self._wins(value2[at], value1[at]):
            return value1
        return (*value1[:at], value2[at], *value1[at + 1 :])

    def _wins(self, new: Any, old: Any) -> bool:
        return new is not None and (old is None or self._better(new, old))


class Chosen(Kept):
    """The row with the better value of the two."""

    def reduce(self, value1: Row, value2: Row) -> Any:
        return value2 if self._wins(value2[self._field], value1[self._field]) else value1
