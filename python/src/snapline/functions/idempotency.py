"""Keys of rows, for services that drop a request that they have seen."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextvars import ContextVar
from typing import Any

from snapline.errors import InvalidConfiguration


class RowKeys:
    """The keys of a task's rows. Each row is numbered among those that are equal to it, whatever their order."""

    def __init__(self, batch_key: str, function: str) -> None:
        """``batch_key``: names query, micro-batch and partition; empty: there is no query.

        The micro-batch is that of the rows, and for rows that waited the one that works them off as well.
        """
        self._batch_key = batch_key
        self._function = function
        self._seen: Counter[bytes] = Counter()

    def enter(self, row: Any) -> None:
        """The calls that this coroutine makes from here on are for the row."""
        _CURRENT.set(_RowKey(self, row))

    def make(self, row: Any) -> str:
        """The next key for such a row."""
        if not self._batch_key:
            raise InvalidConfiguration(
                "a bounded DataFrame has no micro-batches that could run again.", "make a key of the row itself."
            )
        digest = hashlib.sha256(f"{self._batch_key}|{self._function}|{row!r}".encode())
        number = self._seen[digest.digest()]
        self._seen[digest.digest()] += 1
        digest.update(f"|{number}".encode())
        return digest.hexdigest()


class _RowKey:
    """Made when it is asked for, and once: a call that is made again has the same."""

    def __init__(self, keys: RowKeys, row: Any) -> None:
        self._keys, self._row = keys, row
        self._text: str | None = None

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self._keys.make(self._row)
        return self._text


_CURRENT: ContextVar[_RowKey] = ContextVar("snapline_row_key")


def idempotency_key() -> str:
    """A key of the row that an asynchronous function is called for: 64 hexadecimal digits.

    The key is the same when the call is made again, by a retry, a restart or a replay. Every other row has another,
    also one that is equal, and so has every function of another class. A service that keeps the keys of its requests
    can drop a request that it has.

    Raises:
        InvalidConfiguration: it is called outside of ``async_invoke`` and of ``async def process_element``, or for a
            bounded DataFrame.
    """
    current = _CURRENT.get(None)
    if current is None:
        raise InvalidConfiguration(
            "idempotency_key() outside of a row's asynchronous call.",
            "call it in async_invoke, or in an `async def process_element`.",
        )
    return current.text
