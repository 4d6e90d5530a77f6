"""State variables with the methods of Spark's, over Snapline's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from snapline.state.list import ListState
from snapline.state.map import MapState
from snapline.state.value import ValueState


class SparkValueState:
    """A value of the current key: a tuple."""

    def __init__(self, state: ValueState[Any]) -> None:
        self._state = state

    def exists(self) -> bool:
        """Whether there is a value."""
        return self._state.value() is not None

    def get(self) -> tuple[Any, ...] | None:
        """The value; None: there is none."""
        return self._state.value()

    def update(self, newValue: tuple[Any, ...]) -> None:
        """Sets the value."""
        self._state.update(newValue)

    def clear(self) -> None:
        """Removes the value."""
        self._state.clear()


class SparkListState:
    """A list of the current key, of tuples."""

    def __init__(self, state: ListState[Any]) -> None:
        self._state = state

    def exists(self) -> bool:
        """Whether the list has an element."""
        return any(True for _ in self._state.get())

    def get(self) -> Iterator[tuple[Any, ...]]:
        """The elements in order."""
        return iter(self._state.get())

    def put(self, newState: Sequence[tuple[Any, ...]]) -> None:
        """Replaces the list."""
        self._state.update(newState)

    def appendValue(self, newState: tuple[Any, ...]) -> None:
        """Appends an element."""
        self._state.add(newState)

    def appendList(self, newState: Sequence[tuple[Any, ...]]) -> None:
        """Appends elements."""
        self._state.add_all(newState)

    def clear(self) -> None:
        """Removes the list."""
        self._state.clear()


class SparkMapState:
    """A map of the current key, from tuples to tuples."""

    def __init__(self, state: MapState[Any, Any]) -> None:
        self._state = state

    def exists(self) -> bool:
        """Whether the map has an entry."""
        return not self._state.is_empty()

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The value of an entry; None: there is none."""
        return self._state.get(key)

    def containsKey(self, key: tuple[Any, ...]) -> bool:
        """Whether there is an entry."""
        return self._state.contains(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        """Sets an entry."""
        self._state.put(key, value)

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values."""
        return iter(self._state.items())

    def keys(self) -> Iterator[tuple[Any, ...]]:
        """The keys."""
        return iter(self._state.keys())

    def values(self) -> Iterator[Any]:
        """The values."""
        return iter(self._state.values())

    def removeKey(self, key: tuple[Any, ...]) -> None:
        """Removes an entry."""
        self._state.remove(key)

    def clear(self) -> None:
        """Removes the map."""
        self._state.clear()
