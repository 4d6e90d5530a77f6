"""From a descriptor to the cache that holds the state and the handle that the function gets."""

from __future__ import annotations

from typing import Any

from snapline.errors import InternalError
from snapline.state.aggregate import ReduceFunction
from snapline.state.coerce import (
    StructListState,
    StructMapState,
    StructTtlListState,
    StructTtlMapState,
    StructTtlValueState,
    StructValueState,
    coercer,
    same,
)
from snapline.state.cursor import BatchTime, Cursor, TtlClock
from snapline.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.list import ListState, TtlListState
from snapline.state.list_cache import ListCache, TtlListCache
from snapline.state.map import MapState, TtlMapState
from snapline.state.map_cache import MapCache, TtlMapCache
from snapline.state.namespaced import NamespacedListState, NamespacedMapState, NamespacedValueState
from snapline.state.reducing import AggregatingState, AggregatingStateOver, ReducingState, ReducingStateOver
from snapline.state.source import StateSource
from snapline.state.spec import StateSpec
from snapline.state.value import TtlValueState, ValueState
from snapline.state.value_cache import TtlValueCache, ValueCache

Cache = ValueCache | ListCache | MapCache


def make_cache(spec: StateSpec, source: StateSource) -> Cache:
    """The cache of a state as it is stored."""
    if spec.kind == "value":
        return TtlValueCache() if spec.ttl else ValueCache()
    if spec.kind == "list":
        return TtlListCache(source) if spec.ttl else ListCache(source)
    return TtlMapCache(source) if spec.ttl else MapCache(source)


def make_handle(descriptor: StateDescriptor, spec: StateSpec, cache: Cache, cursor: Cursor, time: BatchTime) -> Any:
    """The handle of the kind that the descriptor asks for, over that cache."""
    physical = _physical(spec, cache, cursor, time)
    # The fast kinds work on the cache itself, and know of nothing but values.
    is_fast = type(physical) is ValueState
    coerce = (None if spec.pickled else coercer(spec.value)) or same
    if isinstance(descriptor, ReducingStateDescriptor):
        function = descriptor.reduce_function
        reduce = function.reduce if isinstance(function, ReduceFunction) else function
        if is_fast:
            return ReducingState(_of(cache, ValueCache), cursor, reduce)
        return ReducingStateOver(_one_value(physical), reduce, coerce)
    if isinstance(descriptor, AggregatingStateDescriptor):
        if is_fast:
            return AggregatingState(_of(cache, ValueCache), cursor, descriptor.aggregate_function)
        return AggregatingStateOver(_one_value(physical), descriptor.aggregate_function, coerce)
    if isinstance(descriptor, ValueStateDescriptor):
        return _one_value(physical)
    if isinstance(descriptor, ListStateDescriptor):
        return physical if descriptor.namespace is None else NamespacedListState(_of(physical, MapState))
    if isinstance(descriptor, MapStateDescriptor):
        return physical if descriptor.namespace is None else NamespacedMapState(_of(physical, MapState))
    raise InternalError(f"a descriptor {descriptor!r}.", "report it.")


#: By kind: plain, with structs; then the same with a time to live.
_HANDLES: dict[str, tuple[Any, Any, Any, Any]] = {
    "value": (ValueState, StructValueState, TtlValueState, StructTtlValueState),
    "list": (ListState, StructListState, TtlListState, StructTtlListState),
    "map": (MapState, StructMapState, TtlMapState, StructTtlMapState),
}


def _physical(spec: StateSpec, cache: Cache, cursor: Cursor, time: BatchTime) -> Any:
    coerce = None if spec.pickled else coercer(spec.value)
    coerce_key = None if spec.key is None else coercer(spec.key)
    has_structs = coerce is not None or coerce_key is not None
    plain, struct, ttl, struct_ttl = _HANDLES[spec.kind]
    if spec.ttl is None:
        handle = (struct if has_structs else plain)(cache, cursor)
    else:
        kind = struct_ttl if has_structs else ttl
        handle = kind(cache, cursor, spec.ttl, TtlClock(spec.ttl, time, cursor))
    if has_structs:
        handle.coerce = coerce or same
    if has_structs and spec.kind == "map":
        handle.coerce_key = coerce_key or same
    return handle


def _one_value(physical: Any) -> ValueState[Any]:
    return NamespacedValueState(physical) if isinstance(physical, MapState) else _of(physical, ValueState)


def _of(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise InternalError(f"{type(value).__name__} where {kind.__name__} belongs.", "report it.")
    return value
