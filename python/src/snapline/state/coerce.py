"""Struct values as rows, whatever they were given as.

A state gives what the function stored until the end of an epoch, and afterwards what the store gives. Both have to look
alike, so states whose types have structs make rows of them when they are written; others pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from snapline.state.list import ListState, TtlListState
from snapline.state.map import MapState, TtlMapState
from snapline.state.row import by_position, row_class, row_maker
from snapline.state.value import TtlValueState, ValueState

Coerce = Callable[[Any], Any]
T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def coercer(kind: DataType) -> Coerce | None:
    """What makes rows of the structs in values of this type; None if there are none."""
    if isinstance(kind, StructType):
        return _struct(kind)
    if isinstance(kind, ArrayType):
        element = coercer(kind.elementType)
        return None if element is None else lambda value: None if value is None else [element(each) for each in value]
    if isinstance(kind, MapType):
        key, item = coercer(kind.keyType) or same, coercer(kind.valueType) or same
        if key is same and item is same:
            return None
        return lambda value: None if value is None else {key(k): item(v) for k, v in value.items()}
    return None


def same(value: Any) -> Any:
    return value


def _struct(kind: StructType) -> Coerce:
    names = kind.names
    row, make = row_class(tuple(names)), row_maker(names)
    fields = [coercer(field.dataType) for field in kind.fields]
    is_flat = not any(fields)

    def coerce(value: Any) -> Any:
        if value is None or (is_flat and type(value) is row):
            return value
        values = by_position(value, names)
        if len(values) != len(names):
            raise ValueError(f"{len(values)} values where {len(names)} belong ({', '.join(names)}): {value!r:.200}")
        if is_flat:
            return make(values)
        return make([each if field is None else field(each) for field, each in zip(fields, values, strict=True)])

    return coerce


class _Values(ValueState[T]):
    __slots__ = ()
    coerce: Coerce

    def update(self, value: T | None) -> None:
        super().update(self.coerce(value))


class _Lists(ListState[T]):
    __slots__ = ()
    coerce: Coerce

    def add(self, value: T) -> None:
        super().add(self.coerce(value))

    def add_all(self, values: Iterable[T]) -> None:
        super().add_all([self.coerce(value) for value in values])

    def update(self, values: Iterable[T]) -> None:
        super().update([self.coerce(value) for value in values])


class _Maps(MapState[K, V]):
    __slots__ = ()
    coerce: Coerce
    coerce_key: Coerce

    def put(self, key: K, value: V | None) -> None:
        super().put(self.coerce_key(key), self.coerce(value))


class StructValueState(_Values[T]):
    """A value state whose type has structs."""

    __slots__ = ("coerce",)


class StructTtlValueState(_Values[T], TtlValueState[T]):
    """The same with a time to live."""

    __slots__ = ("coerce",)


class StructListState(_Lists[T]):
    """A list state whose type has structs."""

    __slots__ = ("coerce",)


class StructTtlListState(_Lists[T], TtlListState[T]):
    """The same with a time to live."""

    __slots__ = ("coerce",)


class StructMapState(_Maps[K, V]):
    """A map state whose types have structs."""

    __slots__ = ("coerce", "coerce_key")


class StructTtlMapState(_Maps[K, V], TtlMapState[K, V]):
    """The same with a time to live."""

    __slots__ = ("coerce", "coerce_key")
