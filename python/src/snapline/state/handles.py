"""From a descriptor to the cache that holds the state and the handle that the function gets."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

from snapline.errors import InternalError
from snapline.state.aggregate import reduce_of
from snapline.state.cursor import BatchTime, Cursor
from snapline.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.form import ANY, Form, element_form, form_of, key_form
from snapline.state.list import ListState, TtlListState
from snapline.state.list_cache import ListCache, TtlListCache
from snapline.state.map import MapState, TtlMapState
from snapline.state.map_cache import MapCache, TtlMapCache
from snapline.state.namespaced import NamespacedListState, NamespacedMapState, NamespacedValueState
from snapline.state.reducing import (
    AggregatingState,
    AggregatingStateOver,
    OwnedAggregatingState,
    OwnedReducingState,
    ReducingState,
    ReducingStateOver,
)
from snapline.state.source import StateSource
from snapline.state.spec import StateSpec
from snapline.state.stored_map import StoredMap
from snapline.state.types import resolve_key
from snapline.state.value import CopiedValueState, TtlValueState, ValueState
from snapline.state.value_cache import TtlValueCache, ValueCache

Cache = ValueCache | ListCache | MapCache


def make_cache(spec: StateSpec, source: StateSource) -> Cache:
    """The cache of a state as it is stored."""
    if spec.kind == "value":
        return TtlValueCache() if spec.ttl else ValueCache()
    if spec.kind == "list":
        return TtlListCache(source) if spec.ttl else ListCache(source)
    return TtlMapCache(source) if spec.ttl else MapCache(source)


def make_handle(
    descriptor: StateDescriptor, spec: StateSpec, cache: Cache, cursor: Cursor, time: BatchTime, zone: tzinfo | None
) -> Any:
    """The handle of the kind that the descriptor asks for, over that cache; time stamps are naive in the zone."""
    what = f"the value of state {spec.name}"
    value = form_of(spec.value, zone, what, pickled=spec.pickled)
    key = ANY if spec.key is None else key_form(spec.key, zone, f"the key of state {spec.name}")
    stored = value if spec.kind == "value" else element_form(spec.value, zone, what, pickled=spec.pickled)
    physical = _physical(spec, cache, cursor, time, key, stored)
    # The fast kinds work on the cache itself, and know of nothing but values.
    is_fast = spec.kind == "value" and spec.ttl is None
    if isinstance(descriptor, ReducingStateDescriptor):
        reduce = reduce_of(descriptor.reduce_function)
        if is_fast:
            reducing = ReducingState if value.give is None else OwnedReducingState
            return reducing(_of(cache, ValueCache), cursor, value, reduce)
        return ReducingStateOver(_one_value(physical, key), value, reduce)
    if isinstance(descriptor, AggregatingStateDescriptor):
        if is_fast:
            aggregating = AggregatingState if value.give is None else OwnedAggregatingState
            return aggregating(_of(cache, ValueCache), cursor, value, descriptor.aggregate_function)
        return AggregatingStateOver(_one_value(physical, key), value, descriptor.aggregate_function)
    if isinstance(descriptor, ValueStateDescriptor):
        return _one_value(physical, key)
    if isinstance(descriptor, ListStateDescriptor):
        return physical if descriptor.namespace is None else NamespacedListState(_of(physical, MapState), key)
    if isinstance(descriptor, MapStateDescriptor):
        if descriptor.namespace is None:
            return physical
        what = f"the namespace of state {spec.name}"
        namespaces = key_form(resolve_key(descriptor.namespace, what), zone, what)
        return NamespacedMapState(_of(physical, MapState), namespaces)
    raise InternalError(f"a descriptor {descriptor!r}.", "report it.")


def stored_map(spec: StateSpec, cache: Cache, cursor: Cursor, zone: tzinfo | None, values: bool) -> StoredMap:
    """A map whose keys are given in the form of the store, and with ``values`` its values too."""
    value = element_form(spec.value, zone, f"the value of state {spec.name}", pickled=spec.pickled)
    if values:
        value = Form(ANY.exact, ANY.take, value.give)
    return StoredMap(_of(cache, MapCache), cursor, value)


def _physical(spec: StateSpec, cache: Any, cursor: Cursor, time: BatchTime, key: Form, value: Form) -> Any:
    if spec.ttl is None:
        if spec.kind == "value":
            return (ValueState if value.give is None else CopiedValueState)(cache, cursor, value)
        return ListState(cache, cursor, value) if spec.kind == "list" else MapState(cache, cursor, key, value)
    clock = time.clock(spec.ttl, cursor)
    if spec.kind == "value":
        return TtlValueState(cache, cursor, value, spec.ttl, clock)
    if spec.kind == "list":
        return TtlListState(cache, cursor, value, spec.ttl, clock)
    return TtlMapState(cache, cursor, key, value, spec.ttl, clock)


def _one_value(physical: Any, namespaces: Form) -> ValueState[Any]:
    return NamespacedValueState(physical, namespaces) if isinstance(physical, MapState) else _of(physical, ValueState)


def _of(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise InternalError(f"{type(value).__name__} where {kind.__name__} belongs.", "report it.")
    return value
