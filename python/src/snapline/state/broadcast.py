"""Broadcast state: a map that is the same in all partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from snapline.state.coerce import same
from snapline.state.operator_changes import CLEAR, PUT, REMOVE, OperatorChanges

K = TypeVar("K")
V = TypeVar("V")


class ReadOnlyBroadcastState(Generic[K, V]):
    """What the side with the rows may do: look. Iteration has one order in all partitions."""

    __slots__ = ("_entries",)

    def __init__(self, entries: dict[K, V | None]) -> None:
        self._entries = entries

    def get(self, key: K, default: V | None = None) -> V | None:
        """The value of an entry, or the default."""
        return self._entries.get(key, default)

    def contains(self, key: K) -> bool:
        """Whether there is such an entry."""
        return key in self._entries

    def items(self) -> Iterator[tuple[K, V | None]]:
        """All entries."""
        return iter(list(self._entries.items()))

    def keys(self) -> Iterator[K]:
        """All keys."""
        return iter(list(self._entries))

    def values(self) -> Iterator[V | None]:
        """All values."""
        return iter(list(self._entries.values()))

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __getitem__(self, key: K) -> V | None:
        return self._entries[key]


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """What the side of the broadcast stream, and ``initialize_state``, may do: write too.

    What is written has to follow from the broadcast rows alone, so that it comes out the same in all partitions.
    """

    __slots__ = ("_changed", "_coerce", "_coerce_key", "_is_cleared")

    def __init__(
        self, coerce_key: Callable[[Any], Any] | None = None, coerce: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__({})
        self._coerce_key = coerce_key or same
        self._coerce = coerce or same
        # In the order in which they were changed: a dict stands for a set that keeps it.
        self._changed: dict[K, None] = {}
        self._is_cleared = False

    def load(self, keys: Sequence[K], values: Sequence[V | None]) -> None:
        """Entries of the store, in its order."""
        self._entries.update(zip(keys, values, strict=True))

    def read_only(self) -> ReadOnlyBroadcastState[K, V]:
        """The same entries, to look at."""
        return ReadOnlyBroadcastState(self._entries)

    def put(self, key: K, value: V | None) -> None:
        """Sets an entry."""
        key = self._coerce_key(key)
        self._entries[key] = self._coerce(value)
        self._changed[key] = None

    def put_all(self, entries: Mapping[K, V | None]) -> None:
        """Sets entries."""
        for key, value in entries.items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Removes an entry, if there is one."""
        key = self._coerce_key(key)
        if self._entries.pop(key, self) is not self:
            self._changed[key] = None

    def clear(self) -> None:
        """Removes all entries."""
        self._entries.clear()
        self._changed.clear()
        self._is_cleared = True

    def __setitem__(self, key: K, value: V | None) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        if key not in self._entries:
            raise KeyError(key)
        self.remove(key)

    def changes(self) -> OperatorChanges | None:
        """What the store has to do."""
        if not self._changed and not self._is_cleared:
            return None
        ops = [CLEAR] if self._is_cleared else []
        keys: list[Any] = [None] * len(ops)
        values: list[Any] = [None] * len(ops)
        for key in self._changed:
            is_there = key in self._entries
            ops.append(PUT if is_there else REMOVE)
            keys.append(key)
            values.append(self._entries.get(key))
        return OperatorChanges(ops, keys, values)
