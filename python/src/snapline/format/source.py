"""The source of a reader of framed files."""

from __future__ import annotations

from typing import Protocol


class Source(Protocol):
    """Bytes that can be read at any position. Its opener closes it."""

    @property
    def path(self) -> str:
        """For messages."""

    @property
    def size(self) -> int:
        """In bytes."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes; fewer only if the source ends before."""


class BytesSource:
    """A source in memory."""

    def __init__(self, data: bytes, path: str = "<memory>") -> None:
        self._data = data
        self.path = path

    @property
    def size(self) -> int:
        return len(self._data)

    def read_at(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]
