"""Broadcast state: a map that is the same in all partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from snapline.state.form import ANY, Form
from snapline.state.operator_changes import CLEAR, PUT, REMOVE, OperatorChanges

K = TypeVar("K")
V = TypeVar("V")


class ReadOnlyBroadcastState(Generic[K, V]):
    """What the side with the rows may do: look. Iteration has one order in all partitions."""

    __slots__ = ("_entries", "_exact_key", "_give", "_key", "_take_key", "_value")

    def __init__(self, entries: dict[K, Any], key: Form, value: Form) -> None:
        self._entries = entries
        self._key, self._value = key, value
        self._exact_key, self._take_key, self._give = key.exact, key.take, value.give

    def get(self, key: K, default: V | None = None) -> V | None:
        """The value of an entry, or the default."""
        if type(key) is not self._exact_key:
            key = self._take_key(key)
        if key not in self._entries:
            return default
        kept, give = self._entries[key], self._give
        return kept if give is None else give(kept)  # type: ignore[no-any-return]

    def contains(self, key: K) -> bool:
        """Whether there is such an entry."""
        return self._take_key(key) in self._entries

    def items(self) -> Iterator[tuple[K, V | None]]:
        """All entries."""
        give = self._give
        return iter([(key, kept if give is None else give(kept)) for key, kept in self._entries.items()])

    def keys(self) -> Iterator[K]:
        """All keys."""
        return iter(list(self._entries))

    def values(self) -> Iterator[V | None]:
        """All values."""
        return iter([value for _, value in self.items()])

    def is_empty(self) -> bool:
        """Whether there is no entry."""
        return not self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return self.keys()

    def __contains__(self, key: object) -> bool:
        return self.contains(key)  # type: ignore[arg-type]

    def __getitem__(self, key: K) -> V | None:
        if not self.contains(key):
            raise KeyError(key)
        return self.get(key)


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """The state for the side of the broadcast stream, and for ``initialize_state``: they may write too.

    Values must follow from the broadcast rows alone, so that they are the same in all partitions.
    """

    __slots__ = ("_changed", "_is_cleared")

    def __init__(self, key: Form = ANY, value: Form = ANY) -> None:
        super().__init__({}, key, value)
        # In the order in which they were changed: a dict stands for a set that keeps it.
        self._changed: dict[K, None] = {}
        self._is_cleared = False

    def load(self, keys: Sequence[K], values: Sequence[Any]) -> None:
        """Entries of the store, in its order."""
        self._entries.update(zip(keys, values, strict=True))

    def read_only(self) -> ReadOnlyBroadcastState[K, V]:
        """The same entries, to look at."""
        return ReadOnlyBroadcastState(self._entries, self._key, self._value)

    def put(self, key: K, value: V | None) -> None:
        """Sets an entry."""
        key, value = self._take_key(key), self._value.take(value)
        self._entries[key] = value
        self._changed[key] = None

    def put_all(self, entries: Mapping[K, V | None]) -> None:
        """Sets entries."""
        for key, value in entries.items():
            self.put(key, value)

    def remove(self, key: K) -> None:
        """Removes an entry, if there is one."""
        key = self._take_key(key)
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
        if not self.contains(key):
            raise KeyError(key)
        self.remove(key)

    def changes(self) -> OperatorChanges | None:
        """The changes for the store."""
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
