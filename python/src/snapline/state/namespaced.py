"""States with namespaces: a map state keyed by the namespace under the handle of the user's kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from snapline.state.form import Form
from snapline.state.list import ListState
from snapline.state.map import MapState
from snapline.state.row import row_maker
from snapline.state.value import ValueState

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_pair = row_maker(("namespace", "key"))


def equal_keys(first: Any, second: Any) -> bool:
    """Whether two keys are one: NaN is equal to itself here, as it is in a dict."""
    return first is second or bool(first == second)


class NamespacedValueState(ValueState[T]):
    """A value per key and namespace."""

    __slots__ = ("_map", "_take_namespace", "namespace")

    def __init__(self, entries: MapState[Any, T], namespaces: Form) -> None:
        self._map = entries
        self._take_namespace = namespaces.take
        self.namespace: Any = None

    def set_current_namespace(self, namespace: Any) -> None:
        """The namespace of all that follows."""
        self.namespace = self._take_namespace(namespace)

    def value(self) -> T | None:
        return self._map.get(self.namespace)

    def update(self, value: T | None) -> None:
        if value is None:
            self._map.remove(self.namespace)
        else:
            self._map.put(self.namespace, value)

    def clear(self) -> None:
        self._map.remove(self.namespace)


class NamespacedListState(ListState[T]):
    """A list per key and namespace; it is read and written whole."""

    __slots__ = ("_map", "_take_namespace", "namespace")

    def __init__(self, entries: MapState[Any, list[T]], namespaces: Form) -> None:
        self._map = entries
        self._take_namespace = namespaces.take
        self.namespace: Any = None

    def set_current_namespace(self, namespace: Any) -> None:
        """The namespace of all that follows."""
        self.namespace = self._take_namespace(namespace)

    def get(self) -> Iterable[T]:
        return list(self._map.get(self.namespace) or ())

    def add(self, value: T) -> None:
        self.update([*self.get(), value])

    def add_all(self, values: Iterable[T]) -> None:
        self.update([*self.get(), *values])

    def update(self, values: Iterable[T]) -> None:
        elements = list(values)
        if elements:
            self._map.put(self.namespace, elements)
        else:
            self._map.remove(self.namespace)

    def clear(self) -> None:
        self._map.remove(self.namespace)


class NamespacedMapState(MapState[K, V]):
    """A map per key and namespace; going through it or clearing it goes through the key's other namespaces too."""

    __slots__ = ("_map", "_take_namespace", "namespace")

    def __init__(self, entries: MapState[Any, V], namespaces: Form) -> None:
        self._map = entries
        self._take_namespace = namespaces.take
        self.namespace: Any = None

    def set_current_namespace(self, namespace: Any) -> None:
        """The namespace of all that follows."""
        self.namespace = self._take_namespace(namespace)

    def get(self, key: K, default: V | None = None) -> V | None:
        return self._map.get(_pair((self.namespace, key)), default)

    def get_all(self, keys: Iterable[K]) -> dict[K, V | None]:
        found = self._map.get_all(_pair((self.namespace, key)) for key in keys)
        return {pair[1]: value for pair, value in found.items()}

    def put(self, key: K, value: V | None) -> None:
        self._map.put(_pair((self.namespace, key)), value)

    def remove(self, key: K) -> None:
        self._map.remove(_pair((self.namespace, key)))

    def contains(self, key: K) -> bool:
        return self._map.contains(_pair((self.namespace, key)))

    def __getitem__(self, key: K) -> V | None:
        return self._map[_pair((self.namespace, key))]

    def items(self) -> Iterator[tuple[K, V | None]]:
        namespace = self.namespace
        return ((key, value) for (of, key), value in self._map.items() if equal_keys(of, namespace))

    def clear(self) -> None:
        for key in list(self.keys()):
            self.remove(key)
