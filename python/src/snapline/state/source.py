"""Where a cache finds what was not sent ahead, and how it hands over what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol


class Entry(NamedTuple):
    """An element of a list (its key is None) or an entry of a map; ``expiry`` only with a time to live."""

    key: Any
    value: Any
    expiry: int | None


class StateSource(Protocol):
    """Reads one state of the store as of the beginning of the epoch.

    Attributes:
        epoch: the number of the epoch. A slot is of one epoch, and another key has its number in the next.
    """

    epoch: int

    def entries(self, slot: int, keys: Sequence[Any]) -> list[Entry]:
        """Those of these entries of a map that exist."""

    def scan(self, slot: int) -> Iterator[tuple[list[Entry], bool]]:
        """All of a list or map in pages, and whether there are more. Closing the iterator ends the scan.

        The iterator belongs to the epoch of the call: it raises when a page is asked for after that.
        """

    def too_late(self) -> Exception:
        """The error of an iteration that goes on after its epoch."""


def needs_index(expiry: int | None, stored: int | None) -> bool:
    """Whether what is written with this expiry needs an entry in the index of expiries: what was stored before has one
    that is not later than its own. In event time a late row brings an expiry forward."""
    return stored is None or (expiry is not None and expiry < stored)


class Changes(NamedTuple):
    """The changes of one state in an epoch, column by column.

    A value of None deletes a value state. ``ops``: of a list 0 append, 1 clear; of a map 0 put, 1 remove, 2 clear.
    ``created``: the index of expiries needs an entry. The last two only with a time to live.
    """

    slots: Sequence[int]
    ops: Sequence[int] | None
    keys: Sequence[Any] | None
    values: Sequence[Any]
    expiries: Sequence[int | None] | None
    created: Sequence[bool | None] | None
