"""List state of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from snapline.state.coerce import same
from snapline.state.operator_changes import PUT, REMOVE, OperatorChanges

T = TypeVar("T")


class OperatorListState(Generic[T]):
    """The list of one partition, whole in memory. Its elements are what is dealt out when the parallelism changes."""

    __slots__ = ("_coerce", "_is_rewritten", "_stored", "_values")

    def __init__(self, coerce: Callable[[Any], Any] | None = None) -> None:
        self._values: list[T] = []
        self._stored = 0
        self._is_rewritten = False
        self._coerce = coerce or same

    def load(self, positions: Sequence[int], values: Sequence[T]) -> None:
        """Elements in their order, behind those that are here."""
        self._values.extend(values)
        self._stored = len(self._values)

    def get(self) -> list[T]:
        """The elements: a copy."""
        return self._values.copy()

    def __iter__(self) -> Iterator[T]:
        return iter(self._values.copy())

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: T) -> None:
        """Appends an element."""
        self._values.append(self._coerce(value))

    def add_all(self, values: Iterable[T]) -> None:
        """Appends elements."""
        self._values.extend(map(self._coerce, values))

    def update(self, values: Iterable[T]) -> None:
        """Replaces the list."""
        self._values = [self._coerce(value) for value in values]
        self._is_rewritten = True

    def clear(self) -> None:
        """Empties the list."""
        self.update([])

    def changes(self) -> OperatorChanges | None:
        """What the store has to do; the operator compares what is put with what it has."""
        first = 0 if self._is_rewritten else self._stored
        put = range(first, len(self._values))
        gone = range(len(self._values), self._stored)
        if not put and not gone:
            return None
        return OperatorChanges(
            [PUT] * len(put) + [REMOVE] * len(gone),
            [*put, *gone],
            [*self._values[first:], *[None] * len(gone)],
        )
