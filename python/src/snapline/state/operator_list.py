"""List state of an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from snapline.state.form import ANY, Form
from snapline.state.operator_changes import PUT, REMOVE, OperatorChanges

T = TypeVar("T")


class OperatorListState(Generic[T]):
    """The list of one partition, whole in memory. Its elements are what is dealt out when the parallelism changes."""

    __slots__ = ("_give", "_is_rewritten", "_stored", "_take", "_values")

    def __init__(self, form: Form = ANY) -> None:
        self._take, self._give = form.take, form.give
        self._values: list[Any] = []
        self._stored = 0
        self._is_rewritten = False

    def load(self, positions: Sequence[int], values: Sequence[Any]) -> None:
        """Elements in their order, behind those that are here."""
        self._values.extend(values)
        self._stored = len(self._values)

    def get(self) -> list[T]:
        """The elements: a copy."""
        give = self._give
        return self._values.copy() if give is None else [give(each) for each in self._values]

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: T) -> None:
        """Appends an element."""
        self._values.append(self._take(value))

    def add_all(self, values: Iterable[T]) -> None:
        """Appends elements."""
        self._values.extend([self._take(value) for value in values])

    def update(self, values: Iterable[T]) -> None:
        """Replaces the list."""
        self._values = [self._take(value) for value in values]
        self._is_rewritten = True

    def clear(self) -> None:
        """Empties the list."""
        self.update([])

    def changes(self) -> OperatorChanges | None:
        """The changes for the store; the operator compares them with the elements that it has."""
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
