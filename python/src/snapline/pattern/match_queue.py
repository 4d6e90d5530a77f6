"""The queue that partial and complete matches stand in, by the event that begins them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class MatchQueue(Generic[T]):
    """A binary heap, whose array can be gone through.

    The place in the array decides which of two elements with one order is tried first, and so which match a skip
    strategy keeps. Flink's queue is Java's, so this one moves elements as that does; ``heapq`` gives other matches.
    """

    def __init__(self, order: Callable[[T], int], elements: Iterable[T] = ()) -> None:
        """
        Args:
            order: gives the order of an element.
            elements: in the order of an array that a queue had before.
        """
        self._order = order
        self._heap = list(elements)

    def __iter__(self) -> Iterator[T]:
        """In the order of the array."""
        return iter(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> T | None:
        """The least element."""
        return self._heap[0] if self._heap else None

    def add(self, element: T) -> None:
        self._heap.append(element)
        self._up(len(self._heap) - 1)

    def add_all(self, elements: Iterable[T]) -> None:
        for each in elements:
            self.add(each)

    def take(self) -> T:
        """Removes the least element."""
        heap = self._heap
        least, last = heap[0], heap.pop()
        if heap:
            heap[0] = last
            self._down(0)
        return least

    def keep(self, keeps: Callable[[T], bool]) -> None:
        """Removes the others."""
        kept = [each for each in self._heap if keeps(each)]
        if len(kept) == len(self._heap):
            return
        self._heap = kept
        for at in range(len(kept) // 2 - 1, -1, -1):
            self._down(at)

    def _up(self, at: int) -> None:
        heap, order = self._heap, self._order
        moved = heap[at]
        while at > 0:
            parent = (at - 1) // 2
            if order(moved) >= order(heap[parent]):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = moved

    def _down(self, at: int) -> None:
        heap, order, size = self._heap, self._order, len(self._heap)
        moved = heap[at]
        while at < size // 2:
            child = 2 * at + 1
            if child + 1 < size and order(heap[child]) > order(heap[child + 1]):
                child += 1
            if order(moved) <= order(heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved
