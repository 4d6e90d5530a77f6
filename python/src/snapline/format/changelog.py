"""Changelogs: what one micro-batch changed (docs/FORMAT.md, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from snapline.format.frame import FrameReader, damaged
from snapline.format.meta import MAX_FAMILY_ID, ChangelogMeta, parse_changelog_meta
from snapline.format.names import Kind, VersionRef
from snapline.format.source import Source

_MAX_UINT32 = 0xFFFF_FFFF


class Operation(IntEnum):
    """The operation of an entry. VOID does nothing to the state: the jar's change feed reads it."""

    VOID = 0
    PUT = 1
    DELETE = 2
    MERGE = 3
    DELETE_RANGE = 4


class Entry(NamedTuple):
    """One change. For DELETE_RANGE the key is the first of the range and the value the first key after it."""

    family: int
    operation: Operation
    key: bytes
    value: bytes


class ChangelogReader:
    """Reads one changelog. Does not own the source.

    Raises:
        CheckpointDamaged: anything does not add up, here or while entries are read.
        UnsupportedVersion: the format number is unknown.
    """

    def __init__(self, source: Source, expected: VersionRef | None = None) -> None:
        self._path = source.path
        self._frame = FrameReader(source, Kind.CHANGELOG)
        self.size = self._frame.size
        self.meta: ChangelogMeta = parse_changelog_meta(self._frame.meta, self._path)
        if expected is not None and self.meta.ref != expected:
            # A file copied under another name is another file.
            raise damaged(self._path, f"it holds version {self.meta.ref}")

    def check_blocks(self) -> None:
        """Reads every byte and checks it, without taking entries apart."""
        raw_bytes = sum(len(block) for block in self._frame.read_blocks())
        if raw_bytes != self.meta.raw_bytes:
            raise damaged(self._path, f"it has {raw_bytes} bytes of entries and names {self.meta.raw_bytes}")

    def read_entries(self) -> Iterator[Entry]:
        """All entries but void ones, in order. May be called again."""
        entries = 0
        for block in self._frame.read_blocks():
            for entry in read_entries(block, self._path):
                entries += 1
                if entry.operation is not Operation.VOID:
                    yield entry
        if entries != self.meta.entries:
            raise damaged(self._path, f"it has {entries} entries and names {self.meta.entries}")


def read_entries(block: bytes, path: str) -> Iterator[Entry]:
    """The entries of a block's raw bytes.

    Raises:
        CheckpointDamaged: they are none; ``path`` is named.
    """
    position = 0
    while position < len(block):
        tag, position = _read_uvarint(block, position, path)
        key_length, position = _read_uvarint(block, position, path)
        value_length, position = _read_uvarint(block, position, path)
        value_at = position + key_length
        end = value_at + value_length
        if end > len(block):
            raise damaged(path, "an entry crosses the end of its block")
        family, operation = tag >> 3, tag & 7
        if operation > Operation.DELETE_RANGE or family > MAX_FAMILY_ID:
            raise damaged(path, f"an entry has the unknown tag {tag}")
        yield Entry(family, Operation(operation), block[position:value_at], block[value_at:end])
        position = end


def _read_uvarint(block: bytes, position: int, path: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if position == len(block):
            break
        byte = block[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _MAX_UINT32:
                break
            return value, position
    raise damaged(path, "an entry has an impossible length")
