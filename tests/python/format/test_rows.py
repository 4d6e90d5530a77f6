from __future__ import annotations

import struct
from pathlib import Path

import pyarrow
import pytest

from snapline.errors import CheckpointDamaged, UnsupportedVersion
from snapline.format import Entry, Operation
from snapline.format.rows import read_rows

from .writer import write_entries

ENTRIES = [
    Entry(1, Operation.DELETE, b"gone", b""),
    *(Entry(i % 3, Operation.PUT, b"key %d" % i, b"x" * (i * 7 % 90)) for i in range(60)),
]


def rows_file(entries: list[Entry], compress: bool, per_block: int = 25, count: int | None = None) -> bytes:
    data = struct.pack("<8sHBB", b"SNAPROWS", 1, int(compress), 0)
    for at in range(0, len(entries), per_block):
        raw = write_entries(entries[at : at + per_block])
        stored = pyarrow.Codec("lz4_raw").compress(raw, asbytes=True) if compress else raw
        stored = stored if len(stored) < len(raw) else raw
        data += struct.pack("<II", len(stored), len(raw)) + stored
    return data + struct.pack("<QQ", 0, len(entries) if count is None else count)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0000000001-image"


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("entries", [[], ENTRIES[:1], ENTRIES])
def test_what_was_written_is_read(path: Path, entries: list[Entry], compress: bool) -> None:
    path.write_bytes(rows_file(entries, compress))
    assert list(read_rows(path)) == entries


@pytest.mark.parametrize("compress", [True, False])
def test_every_length_but_its_own_is_damage(path: Path, compress: bool) -> None:
    whole = rows_file(ENTRIES, compress)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointDamaged):
            list(read_rows(path))
    path.write_bytes(whole + b"\0")
    with pytest.raises(CheckpointDamaged, match="behind its end"):
        list(read_rows(path))


@pytest.mark.parametrize("compress", [True, False])
def test_a_flipped_byte_never_ends_in_another_error(path: Path, compress: bool) -> None:
    whole = rows_file(ENTRIES, compress)
    found = 0
    for at in range(len(whole)):
        harmed = bytearray(whole)
        harmed[at] ^= 1 << at % 8
        path.write_bytes(bytes(harmed))
        try:
            list(read_rows(path))
        except (CheckpointDamaged, UnsupportedVersion):
            found += 1
    assert found > 50


def test_what_cannot_be_in_it(path: Path) -> None:
    path.write_bytes(rows_file([Entry(0, Operation.MERGE, b"k", b"v")], False))
    with pytest.raises(CheckpointDamaged, match="MERGE"):
        list(read_rows(path))
    path.write_bytes(rows_file(ENTRIES, True, count=3))
    with pytest.raises(CheckpointDamaged, match="as many entries"):
        list(read_rows(path))
    path.write_bytes(rows_file([], True).replace(b"SNAPROWS\1", b"SNAPROWS\2"))
    with pytest.raises(UnsupportedVersion, match="format 2"):
        list(read_rows(path))
