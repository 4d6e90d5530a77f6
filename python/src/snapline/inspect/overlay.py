"""The changes of changelogs, laid over the rows of a snapshot."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from snapline.format import Entry, Operation

Row = tuple[bytes, bytes]


class _Change(NamedTuple):
    """The change of a key. ``whole``: the value replaces the one below (None: deleted); else it is appended to it."""

    whole: bool
    value: bytes | None


class Overlay:
    """The changes of one family. Entries go in in the order of the files."""

    def __init__(self) -> None:
        self._changes: dict[bytes, _Change] = {}
        self._ranges: list[tuple[bytes, bytes]] = []

    def apply(self, entry: Entry) -> None:
        """Takes one change of this family."""
        if entry.operation is Operation.PUT:
            self._changes[entry.key] = _Change(True, entry.value)
        elif entry.operation is Operation.DELETE:
            self._changes[entry.key] = _Change(True, None)
        elif entry.operation is Operation.MERGE:
            self._merge(entry.key, entry.value)
        elif entry.operation is Operation.DELETE_RANGE:
            self._delete_range(entry.key, entry.value)

    def over(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows after all changes. ``rows`` must be in the order of their keys, and so is what comes out."""
        masked = _Ranges(self._ranges)
        changed = iter(sorted(self._changes.items()))
        change = next(changed, None)
        for key, value in rows:
            while change is not None and change[0] < key:
                yield from _row(change, b"")
                change = next(changed, None)
            below = b"" if key in masked else value
            if change is not None and change[0] == key:
                yield from _row(change, below)
                change = next(changed, None)
            elif key not in masked:
                yield key, value
        while change is not None:
            yield from _row(change, b"")
            change = next(changed, None)

    def _merge(self, key: bytes, value: bytes) -> None:
        before = self._changes.get(key)
        if before is None:
            whole = any(first <= key < until for first, until in self._ranges)
            self._changes[key] = _Change(whole, value)
        else:
            self._changes[key] = _Change(before.whole, (before.value or b"") + value)

    def _delete_range(self, first: bytes, until: bytes) -> None:
        self._ranges.append((first, until))
        for key in [key for key in self._changes if first <= key < until]:
            self._changes[key] = _Change(True, None)


class _Ranges:
    """Answers whether a key lies in any of many ranges."""

    def __init__(self, ranges: list[tuple[bytes, bytes]]) -> None:
        self._firsts: list[bytes] = []
        self._untils: list[bytes] = []
        for first, until in sorted(ranges):
            if self._untils and first <= self._untils[-1]:
                self._untils[-1] = max(self._untils[-1], until)
            else:
                self._firsts.append(first)
                self._untils.append(until)

    def __contains__(self, key: bytes) -> bool:
        at = bisect_right(self._firsts, key) - 1
        return at >= 0 and key < self._untils[at]


def _row(change: tuple[bytes, _Change], below: bytes) -> Iterator[Row]:
    key, (whole, value) = change
    if value is not None:
        yield key, value if whole else below + value
