"""Files of rows: what the heap's snapshots are made of (docs/FORMAT.md, section 4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from snapline.errors import UnsupportedVersion
from snapline.format.changelog import Entry, Operation, read_entries
from snapline.format.frame import damaged
from snapline.format.lz4 import MAX_RATIO, decompress

_MAGIC = b"SNAPROWS"
_FORMAT = 1
_HEADER = struct.Struct("<8sHBB")
_LENGTHS = struct.Struct("<II")
_COUNT = struct.Struct("<Q")


def read_rows(path: Path) -> Iterator[Entry]:
    """The puts and deletes of a file whose checksum has been compared, in order.

    Raises:
        CheckpointDamaged: it is no such file.
        UnsupportedVersion: it was written by a later version.
    """
    entries = 0
    with path.open("rb") as file:
        compressed = _read_header(file, path.name)
        while (block := _read_block(file, path.name, compressed)) is not None:
            for entry in read_entries(block, path.name):
                if entry.operation not in (Operation.PUT, Operation.DELETE):
                    raise damaged(path.name, f"operation {entry.operation.name} is none of rows")
                entries += 1
                yield entry
        if _COUNT.unpack(_read(file, _COUNT.size, path.name))[0] != entries:
            raise damaged(path.name, "it does not name as many entries as it has")
        if file.read(1):
            raise damaged(path.name, "something stands behind its end")


def _read_header(file: BinaryIO, name: str) -> bool:
    magic, number, codec, _ = _HEADER.unpack(_read(file, _HEADER.size, name))
    if magic != _MAGIC:
        raise damaged(name, f"it does not begin with {_MAGIC.decode()}")
    if number != _FORMAT:
        raise UnsupportedVersion(
            f"{name} has format {number}; this version of Snapline reads {_FORMAT}.",
            "use the version of Snapline that wrote it, or a later one.",
        )
    if codec > 1:
        raise damaged(name, f"codec {codec} is unknown")
    return bool(codec)


def _read_block(file: BinaryIO, name: str, compressed: bool) -> bytes | None:
    """None at the end."""
    stored, raw = _LENGTHS.unpack(_read(file, _LENGTHS.size, name))
    if stored == raw == 0:
        return None
    if not 0 < stored <= raw <= stored * MAX_RATIO:
        raise damaged(name, "a block has impossible lengths")
    data = _read(file, stored, name)
    if raw == stored:
        return data
    whole = decompress(data, raw) if compressed else None
    if whole is None:
        raise damaged(name, "a block does not decompress")
    return whole


def _read(file: BinaryIO, count: int, name: str) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise damaged(name, "it was cut short")
    return data
