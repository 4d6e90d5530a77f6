"""States that are asked for when they are used, as triggers and window functions do: each is a pickle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from operator import add
from typing import Any, TypeVar

from snapline.errors import InvalidConfiguration
from snapline.state.aggregate import reduce_of
from snapline.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.form import ANY
from snapline.state.list import ListState
from snapline.state.map import MapState
from snapline.state.reducing import AggregatingState, AggregatingStateOver, ReducingState, ReducingStateOver
from snapline.state.value import ValueState

T = TypeVar("T")


class KeyedStateStore(ABC):
    """Gives states by their descriptors. A state gives back the object that it was given, whatever its type says."""

    @abstractmethod
    def _value(self, name: str) -> ValueState[Any]:
        """A value of this name."""

    def get(self, descriptor: StateDescriptor) -> Any:
        """The state that a descriptor of any kind stands for.

        Raises:
            InvalidConfiguration: it has a time to live, or namespaces.
        """
        for option in ("ttl", "namespace"):
            if vars(descriptor).get(option) is not None:
                raise InvalidConfiguration(
                    f"{descriptor.what} {descriptor.name} of a window has the option {option}.",
                    "leave it out, or ask for the state in open(), as state of the key.",
                )
        value = self._value(descriptor.name)
        if isinstance(descriptor, ReducingStateDescriptor):
            return ReducingStateOver(value, ANY, reduce_of(descriptor.reduce_function))
        if isinstance(descriptor, AggregatingStateDescriptor):
            return AggregatingStateOver(value, ANY, descriptor.aggregate_function)
        if isinstance(descriptor, ListStateDescriptor):
            return _PickledList(value)
        return _PickledMap(value) if isinstance(descriptor, MapStateDescriptor) else value

    def get_state(self, descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """A value."""
        return self.get(descriptor)  # type: ignore[no-any-return]

    def get_list_state(self, descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list; it is read and written whole."""
        return self.get(descriptor)  # type: ignore[no-any-return]

    def get_map_state(self, descriptor: MapStateDescriptor[Any, T]) -> MapState[Any, T]:
        """A map; it is read and written whole."""
        return self.get(descriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """A value that is reduced with what is added."""
        return self.get(descriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any, Any]:
        """An accumulator."""
        return self.get(descriptor)  # type: ignore[no-any-return]


class GlobalStore(KeyedStateStore):
    """States of the key."""

    def __init__(self, entries: MapState[Any, Any]) -> None:
        self._entries = entries

    def _value(self, name: str) -> ValueState[Any]:
        return _Pickled(self._entries, name)


class WindowStore(KeyedStateStore):
    """States of the window whose key ``window`` is."""

    def __init__(self, entries: MapState[Any, Any]) -> None:
        self._entries = entries
        self.window: Any = None

    def _value(self, name: str) -> ValueState[Any]:
        return _Pickled(self._entries, (self.window, name))

    def merge(self, descriptor: StateDescriptor, target: Any, sources: Iterable[Any]) -> None:
        """Merges the states of the windows ``sources`` into that of ``target``, and deletes them.

        Raises:
            InvalidConfiguration: states of this kind cannot be merged.
        """
        if isinstance(descriptor, ReducingStateDescriptor):
            merge: Callable[[Any, Any], Any] = reduce_of(descriptor.reduce_function)
        elif isinstance(descriptor, AggregatingStateDescriptor):
            merge = descriptor.aggregate_function.merge
        elif isinstance(descriptor, ListStateDescriptor):
            merge = add
        else:
            raise InvalidConfiguration(
                f"{descriptor.what} {descriptor.name} of windows that merge.",
                "use a list, a reducing or an aggregating state.",
            )
        whole = _Pickled(self._entries, (target, descriptor.name))
        merged = whole.value()
        for source in sources:
            value = _Pickled(self._entries, (source, descriptor.name))
            there = value.value() if source != target else None
            if there is not None:
                value.clear()
                merged = there if merged is None else merge(merged, there)
        whole.update(merged)


class NoWindowStore(KeyedStateStore):
    """In the place of the states of a window that merges with others."""

    def _value(self, name: str) -> ValueState[Any]:
        raise InvalidConfiguration(
            f"state {name} of windows that merge.", "use global_state(), or state of the key that open() asks for."
        )


class _Pickled(ValueState[Any]):
    __slots__ = ("_entries", "_name")

    def __init__(self, entries: MapState[Any, Any], name: Any) -> None:
        self._entries = entries
        self._name = name

    def value(self) -> Any:
        return self._entries.get(self._name)

    def update(self, value: Any) -> None:
        if value is None:
            self._entries.remove(self._name)
        else:
            self._entries.put(self._name, value)

    def clear(self) -> None:
        self._entries.remove(self._name)


class _PickledList(ListState[Any]):
    __slots__ = ("_value",)

    def __init__(self, value: ValueState[Any]) -> None:
        self._value = value

    def get(self) -> list[Any]:
        return self._value.value() or []

    def add(self, value: Any) -> None:
        self.update([*self.get(), value])

    def add_all(self, values: Iterable[Any]) -> None:
        self.update([*self.get(), *values])

    def update(self, values: Iterable[Any]) -> None:
        self._value.update(list(values) or None)

    def clear(self) -> None:
        self._value.clear()


class _PickledMap(MapState[Any, Any]):
    __slots__ = ("_value_of_all",)

    def __init__(self, value: ValueState[Any]) -> None:
        self._value_of_all = value

    def _all(self) -> dict[Any, Any]:
        return self._value_of_all.value() or {}

    def get(self, key: Any, default: Any = None) -> Any:
        return self._all().get(key, default)

    def get_all(self, keys: Iterable[Any]) -> dict[Any, Any]:
        entries = self._all()
        return {key: entries[key] for key in keys if key in entries}

    def put(self, key: Any, value: Any) -> None:
        self._value_of_all.update({**self._all(), key: value})

    def remove(self, key: Any) -> None:
        entries = self._all()
        if key in entries:
            del entries[key]
            self._value_of_all.update(entries or None)

    def contains(self, key: Any) -> bool:
        return key in self._all()

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._all().items())

    def clear(self) -> None:
        self._value_of_all.clear()

    def __getitem__(self, key: Any) -> Any:
        return self._all()[key]
