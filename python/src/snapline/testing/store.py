"""Where the operator without Spark keeps state: in a dict, or on disk."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from snapline.state.scalars import NAN
from snapline.state.wall_clock import repeated_key


class Store(ABC):
    """Families of keys and values; the values are not shared with who puts or gets them."""

    @abstractmethod
    def get(self, family: str, key: Any) -> Any:
        """The value, or None."""

    @abstractmethod
    def put(self, family: str, key: Any, value: Any) -> None:
        """Sets a value."""

    @abstractmethod
    def delete(self, family: str, key: Any) -> None:
        """Deletes a value, if there is one."""

    @abstractmethod
    def items(self, family: str) -> Iterator[tuple[Any, Any]]:
        """A copy of what is there."""

    @abstractmethod
    def families(self) -> list[str]:
        """The states that have keys."""

    @abstractmethod
    def close(self) -> None:
        """Gives back what the store holds."""


class DictStore(Store):
    """In memory; as pickles, so that nobody changes a stored value in place."""

    def __init__(self) -> None:
        self._families: dict[str, dict[bytes, tuple[Any, bytes]]] = {}

    def get(self, family: str, key: Any) -> Any:
        found = self._families.get(family, {}).get(_name(family, key))
        return None if found is None else pickle.loads(found[1])

    def put(self, family: str, key: Any, value: Any) -> None:
        self._families.setdefault(family, {})[_name(family, key)] = (key, pickle.dumps(value))

    def delete(self, family: str, key: Any) -> None:
        self._families.get(family, {}).pop(_name(family, key), None)

    def items(self, family: str) -> Iterator[tuple[Any, Any]]:
        return ((key, pickle.loads(value)) for key, value in list(self._families.get(family, {}).values()))

    def families(self) -> list[str]:
        return [name for name, keys in self._families.items() if keys]

    def close(self) -> None:
        self._families.clear()


class RocksStore(Store):
    """In a RocksDB of its own, which it opens and closes."""

    def __init__(self, path: Path) -> None:
        from rocksdict import Rdict

        path.mkdir(parents=True, exist_ok=True)
        self._db = Rdict(str(path))

    def get(self, family: str, key: Any) -> Any:
        found = self._db.get(_name(family, key))
        return None if found is None else pickle.loads(found)[2]

    def put(self, family: str, key: Any, value: Any) -> None:
        self._db[_name(family, key)] = pickle.dumps((family, key, value))

    def delete(self, family: str, key: Any) -> None:
        name = _name(family, key)
        if self._db.get(name) is not None:
            del self._db[name]

    def items(self, family: str) -> Iterator[tuple[Any, Any]]:
        for stored in list(self._db.values()):
            of, key, value = pickle.loads(stored)
            if of == family:
                yield unpickled_key(key), value

    def families(self) -> list[str]:
        return sorted({pickle.loads(stored)[0] for stored in self._db.values()})

    def close(self) -> None:
        self._db.close()


def unpickled_key(key: Any) -> Any:
    """A key out of a pickle in the form that is equal to that of the same bytes alone."""
    if isinstance(key, tuple):
        return tuple.__new__(type(key), map(unpickled_key, key))
    if isinstance(key, datetime):
        return repeated_key(key)
    return NAN if isinstance(key, float) and key != key else key


def _name(family: str, key: Any) -> bytes:
    # Equal values can have different pickles, but have one text, and other values have another.
    return repr((family, key)).encode()
