"""Reducing and aggregating state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from snapline.state.aggregate import AggregateFunction
from snapline.state.cursor import Cursor
from snapline.state.namespaced import NamespacedValueState
from snapline.state.value import ValueState
from snapline.state.value_cache import ValueCache

T = TypeVar("T")
In = TypeVar("In")
Acc = TypeVar("Acc")
Out = TypeVar("Out")


class ReducingState(Generic[T]):
    """One value per key: all that was added, reduced."""

    __slots__ = ("_cursor", "_dirty", "_reduce", "_values")

    def __init__(self, cache: ValueCache, cursor: Cursor, reduce: Callable[[T, T], T]) -> None:
        self._cursor = cursor
        self._values = cache.values
        self._dirty = cache.dirty
        self._reduce = reduce

    def get(self) -> T | None:
        """The reduced value; None if nothing was added."""
        return self._values[self._cursor.slot]  # type: ignore[no-any-return]

    def add(self, value: T) -> None:
        """Reduces the stored value and this one."""
        slot = self._cursor.slot
        values = self._values
        before = values[slot]
        values[slot] = value if before is None else self._reduce(before, value)
        self._dirty[slot] = 1

    def clear(self) -> None:
        """Deletes the value."""
        slot = self._cursor.slot
        self._values[slot] = None
        self._dirty[slot] = 1


class ReducingStateOver(ReducingState[T]):
    """The same over another handle: one with a time to live, with namespaces or of structs."""

    __slots__ = ("_coerce", "_inner")

    def __init__(self, inner: ValueState[T], reduce: Callable[[T, T], T], coerce: Callable[[T], T]) -> None:
        self._inner = inner
        self._reduce = reduce
        self._coerce = coerce

    def set_current_namespace(self, namespace: Any) -> None:
        """The namespace of all that follows, for this key."""
        _namespaced(self._inner).set_current_namespace(namespace)

    def get(self) -> T | None:
        return self._inner.value()

    def add(self, value: T) -> None:
        before, value = self._inner.value(), self._coerce(value)
        self._inner.update(value if before is None else self._reduce(before, value))

    def clear(self) -> None:
        self._inner.clear()

    def merge_namespaces(self, target: Any, sources: Iterable[Any]) -> None:
        """Reduces the values of the namespaces into the target's, and deletes them."""
        _merge(_namespaced(self._inner), target, sources, self._reduce)


class AggregatingState(Generic[In, Acc, Out]):
    """One accumulator per key."""

    __slots__ = ("_add", "_create", "_cursor", "_dirty", "_function", "_values")

    def __init__(self, cache: ValueCache, cursor: Cursor, function: AggregateFunction[In, Acc, Out]) -> None:
        self._cursor = cursor
        self._values = cache.values
        self._dirty = cache.dirty
        self._function = function
        self._create = function.create_accumulator
        self._add = function.add

    def get(self) -> Out | None:
        """The result of the accumulator; None if nothing was added."""
        accumulator = self._values[self._cursor.slot]
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: In) -> None:
        """Adds to the accumulator."""
        slot = self._cursor.slot
        values = self._values
        accumulator = values[slot]
        values[slot] = self._add(value, self._create() if accumulator is None else accumulator)
        self._dirty[slot] = 1

    def clear(self) -> None:
        """Deletes the accumulator."""
        slot = self._cursor.slot
        self._values[slot] = None
        self._dirty[slot] = 1


class AggregatingStateOver(AggregatingState[In, Acc, Out]):
    """The same over another handle: one with a time to live, with namespaces or of structs."""

    __slots__ = ("_coerce", "_inner")

    def __init__(
        self, inner: ValueState[Acc], function: AggregateFunction[In, Acc, Out], coerce: Callable[[Acc], Acc]
    ) -> None:
        self._inner = inner
        self._function = function
        self._coerce = coerce

    def set_current_namespace(self, namespace: Any) -> None:
        """The namespace of all that follows, for this key."""
        _namespaced(self._inner).set_current_namespace(namespace)

    def get(self) -> Out | None:
        accumulator = self._inner.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: In) -> None:
        accumulator = self._inner.value()
        if accumulator is None:
            accumulator = self._coerce(self._function.create_accumulator())
        self._inner.update(self._function.add(value, accumulator))

    def clear(self) -> None:
        self._inner.clear()

    def merge_namespaces(self, target: Any, sources: Iterable[Any]) -> None:
        """Merges the accumulators of the namespaces into the target's, and deletes them."""
        _merge(_namespaced(self._inner), target, sources, self._function.merge)


def _namespaced(state: ValueState[T]) -> NamespacedValueState[T]:
    if not isinstance(state, NamespacedValueState):
        raise TypeError("the state has no namespaces: its descriptor names no type for them")
    return state


def _merge(state: NamespacedValueState[T], target: Any, sources: Iterable[Any], merge: Callable[[T, T], T]) -> None:
    current = state.namespace
    try:
        state.set_current_namespace(target)
        merged = state.value()
        for source in sources:
            if source == target:
                continue
            state.set_current_namespace(source)
            value = state.value()
            if value is not None:
                merged = value if merged is None else merge(merged, value)
                state.clear()
        state.set_current_namespace(target)
        if merged is not None:
            state.update(merged)
    finally:
        state.namespace = current
