"""Functions that fold many values into one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

In = TypeVar("In")
Acc = TypeVar("Acc")
Out = TypeVar("Out")


class ReduceFunction(ABC, Generic[In]):
    """Two values into one of the same type. A plain function of two values does as well."""

    @abstractmethod
    def reduce(self, value1: In, value2: In) -> In:
        """The accumulator of both; the first is the stored one."""


def reduce_of(function: Callable[[Any, Any], Any] | ReduceFunction[Any]) -> Callable[[Any, Any], Any]:
    """The function of two values that either of them is."""
    return function.reduce if isinstance(function, ReduceFunction) else function


class AggregateFunction(ABC, Generic[In, Acc, Out]):
    """Values into an accumulator, and an accumulator into a result."""

    @abstractmethod
    def create_accumulator(self) -> Acc:
        """The accumulator of nothing."""

    @abstractmethod
    def add(self, value: In, accumulator: Acc) -> Acc:
        """The accumulator with the value; it may be the same object."""

    @abstractmethod
    def get_result(self, accumulator: Acc) -> Out:
        """The result of what was accumulated."""

    def merge(self, accumulator1: Acc, accumulator2: Acc) -> Acc:
        """One accumulator of two; needed only to merge namespaces."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to merge accumulators")
