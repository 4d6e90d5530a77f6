"""Reducing and aggregating state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from snapline.state.aggregate import AggregateFunction
from snapline.state.cursor import Cursor
from snapline.state.form import Change, Form, same
from snapline.state.namespaced import NamespacedValueState, equal_keys
from snapline.state.value import ValueState
from snapline.state.value_cache import ValueCache

T = TypeVar("T")
In = TypeVar("In")
Acc = TypeVar("Acc")
Out = TypeVar("Out")


class ReducingState(Generic[T]):
    """One value per key: all that was added, reduced."""

    __slots__ = ("_cursor", "_dirty", "_exact", "_reduce", "_take", "_values")

    def __init__(self, cache: ValueCache, cursor: Cursor, form: Form, reduce: Callable[[T, T], T]) -> None:
        self._exact, self._take = form.exact, form.take
        self._cursor = cursor
        self._values = cache.values
        self._dirty = cache.dirty
        self._reduce = reduce

    def get(self) -> T | None:
        """The reduced value; None if nothing was added."""
        return self._values[self._cursor.slot]  # type: ignore[no-any-return]

    def add(self, value: T) -> None:
        """Reduces the stored value and this one."""
        exact = self._exact
        if type(value) is not exact:
            value = self._take(value)
        slot = self._cursor.slot
        values = self._values
        before = values[slot]
        if before is not None:
            value = self._reduce(before, value)
            if type(value) is not exact:
                value = self._take(value)
        values[slot] = value
        self._dirty[slot] = 1

    def clear(self) -> None:
        """Deletes the value."""
        slot = self._cursor.slot
        self._values[slot] = None
        self._dirty[slot] = 1


class OwnedReducingState(ReducingState[T]):
    """One whose values can be changed in place: the function may change the first of its two."""

    __slots__ = ("_give", "_keep", "_own")

    def __init__(self, cache: ValueCache, cursor: Cursor, form: Form, reduce: Callable[[T, T], T]) -> None:
        super().__init__(cache, cursor, form, reduce)
        self._own, self._keep, self._give = form.own or same, form.keep or same, form.give or same

    def get(self) -> T | None:
        return self._give(self._values[self._cursor.slot])  # type: ignore[no-any-return]

    def add(self, value: T) -> None:
        added = self._take(value)
        slot = self._cursor.slot
        values = self._values
        before = values[slot]
        if before is not None:
            # A change in place by the function is stored, even if it raises then.
            before = values[slot] = self._own(before)
            self._dirty[slot] = 1
            added = self._keep(self._reduce(before, self._own(added)))
        values[slot] = added
        self._dirty[slot] = 1


class _Over:
    """A handle over another one, whose namespaces are its own."""

    __slots__ = ()
    _inner: ValueState[Any]

    @property
    def namespace(self) -> Any:
        """The current namespace."""
        return _namespaced(self._inner).namespace

    @namespace.setter
    def namespace(self, namespace: Any) -> None:
        _namespaced(self._inner).namespace = namespace

    def set_current_namespace(self, namespace: Any) -> None:
        """The namespace of all that follows, for this key."""
        _namespaced(self._inner).set_current_namespace(namespace)


class ReducingStateOver(_Over, ReducingState[T]):
    """The same over another handle: one with a time to live or with namespaces."""

    __slots__ = ("_copy", "_inner")

    def __init__(self, inner: ValueState[T], form: Form, reduce: Callable[[T, T], T]) -> None:
        self._inner = inner
        self._reduce = reduce
        take, give = form.take, form.give or same
        self._copy: Change = lambda value: give(take(value))

    def get(self) -> T | None:
        return self._inner.value()

    def add(self, value: T) -> None:
        before, value = self._inner.value(), self._copy(value)
        self._inner.update(value if before is None else self._reduce(before, value))

    def clear(self) -> None:
        self._inner.clear()

    def merge_namespaces(self, target: Any, sources: Iterable[Any]) -> None:
        """Reduces the values of the namespaces into the target's, and deletes them."""
        _merge(_namespaced(self._inner), target, sources, self._reduce)


class AggregatingState(Generic[In, Acc, Out]):
    """One accumulator per key."""

    __slots__ = ("_add", "_create", "_cursor", "_dirty", "_exact", "_function", "_take", "_values")

    def __init__(
        self, cache: ValueCache, cursor: Cursor, form: Form, function: AggregateFunction[In, Acc, Out]
    ) -> None:
        self._exact, self._take = form.exact, form.take
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
        if accumulator is None:
            accumulator = self._take(self._create())
        accumulator = self._add(value, accumulator)
        values[slot] = accumulator if type(accumulator) is self._exact else self._take(accumulator)
        self._dirty[slot] = 1

    def clear(self) -> None:
        """Deletes the accumulator."""
        slot = self._cursor.slot
        self._values[slot] = None
        self._dirty[slot] = 1


class OwnedAggregatingState(AggregatingState[In, Acc, Out]):
    """One whose accumulators can be changed in place: by the function's ``add`` and nobody else."""

    __slots__ = ("_copy", "_give", "_keep", "_own")

    def __init__(
        self, cache: ValueCache, cursor: Cursor, form: Form, function: AggregateFunction[In, Acc, Out]
    ) -> None:
        super().__init__(cache, cursor, form, function)
        self._own, self._keep, self._give = form.own or same, form.keep or same, form.give or same
        self._copy = form.copy or same

    def get(self) -> Out | None:
        kept = self._values[self._cursor.slot]
        return None if kept is None else self._function.get_result(self._give(kept))

    def add(self, value: In) -> None:
        slot = self._cursor.slot
        values = self._values
        kept = values[slot]
        if kept is None:
            accumulator = self._own(self._take(self._create()))
        else:
            # A change in place by the function is stored, even if it raises then.
            accumulator = values[slot] = self._own(kept)
            self._dirty[slot] = 1
        values[slot] = self._keep(self._add(self._copy(value), accumulator))
        self._dirty[slot] = 1


class AggregatingStateOver(_Over, AggregatingState[In, Acc, Out]):
    """The same over another handle: one with a time to live or with namespaces."""

    __slots__ = ("_copy", "_inner")

    def __init__(self, inner: ValueState[Acc], form: Form, function: AggregateFunction[In, Acc, Out]) -> None:
        self._inner = inner
        self._function = function
        take, give = form.take, form.give or same
        self._copy: Change = lambda value: give(take(value))

    def get(self) -> Out | None:
        accumulator = self._inner.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: In) -> None:
        accumulator = self._inner.value()
        if accumulator is None:
            accumulator = self._copy(self._function.create_accumulator())
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
        target = state.namespace
        merged = state.value()
        for source in sources:
            state.set_current_namespace(source)
            if equal_keys(state.namespace, target):
                continue
            value = state.value()
            if value is not None:
                merged = value if merged is None else merge(merged, value)
                state.clear()
        state.set_current_namespace(target)
        if merged is not None:
            state.update(merged)
    finally:
        state.namespace = current
