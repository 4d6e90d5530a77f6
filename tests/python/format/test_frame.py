from __future__ import annotations

import struct
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapline.errors import CheckpointDamaged, UnsupportedVersion
from snapline.format.frame import FrameReader
from snapline.format.names import Kind
from snapline.format.source import BytesSource

from .writer import crc, write_block, write_frame

BLOCKS = st.lists(st.one_of(st.binary(max_size=200), st.builds(bytes.__mul__, st.binary(max_size=9), st.just(40))))
SAMPLE = write_frame(Kind.CHANGELOG, [b"first" * 9, b"", b"xyz"], b'{"kind":"changelog"}')


def read(data: bytes, kind: Kind = Kind.CHANGELOG) -> tuple[list[bytes], bytes]:
    reader = FrameReader(BytesSource(data), kind)
    return list(reader.read_blocks()), reader.meta


@given(st.sampled_from(Kind), BLOCKS, st.binary(max_size=300), st.booleans())
def test_what_was_written_is_read(kind: Kind, blocks: list[bytes], meta: bytes, compress: bool) -> None:
    assert read(write_frame(kind, blocks, meta, compress=compress), kind) == (blocks, meta)


def test_a_file_larger_than_one_read() -> None:
    blocks = [bytes(range(256)) * 600, b"end" * 3]
    for compress in (True, False):
        assert read(write_frame(Kind.HANDLE, blocks, b"m" * 70_000, compress=compress), Kind.HANDLE)[0] == blocks


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_seen(mask: int) -> None:
    for position in range(len(SAMPLE)):
        hurt = bytearray(SAMPLE)
        hurt[position] ^= mask
        with pytest.raises((CheckpointDamaged, UnsupportedVersion)):
            read(bytes(hurt))


def test_every_cut_is_seen() -> None:
    for length in range(len(SAMPLE)):
        with pytest.raises(CheckpointDamaged):
            read(SAMPLE[:length])


@given(st.binary(min_size=1, max_size=64))
def test_what_is_appended_is_seen(more: bytes) -> None:
    with pytest.raises(CheckpointDamaged):
        read(SAMPLE + more)


@given(st.binary(max_size=400))
def test_noise_is_never_a_frame(noise: bytes) -> None:
    with pytest.raises(CheckpointDamaged):
        read(noise)


def test_another_kind_is_damage() -> None:
    with pytest.raises(CheckpointDamaged, match="SNAPHNDL"):
        read(SAMPLE, Kind.HANDLE)


def test_a_newer_format_is_named() -> None:
    with pytest.raises(UnsupportedVersion, match="format 2"):
        read(write_frame(Kind.CHANGELOG, [], b"{}", number=2))


def lie(
    blocks: bytes, *, count: int, codec: int = 1, meta_offset: int | None = None, meta_length: int | None = None
) -> bytes:
    """A frame whose checksums all fit, whatever its numbers say."""
    header = b"SNAPCLOG" + struct.pack("<HBB", 1, codec, 0)
    header += struct.pack("<I", crc(header))
    offset = len(header) + len(blocks) if meta_offset is None else meta_offset
    trailer = struct.pack("<QIII", offset, 2 if meta_length is None else meta_length, crc(b"{}"), count)
    return header + blocks + b"{}" + trailer + struct.pack("<I", crc(trailer)) + b"SNAPLEND"


def crafted(stored: int, raw: int, data: bytes) -> bytes:
    lengths = struct.pack("<II", stored, raw)
    return lengths + struct.pack("<I", crc(lengths + data)) + data


@pytest.mark.parametrize(
    "data",
    [
        lie(crafted(0xFFFF_FFFF, 0xFFFF_FFFF, b"x"), count=1),
        lie(crafted(4, 1 << 30, b"abcd"), count=1),
        lie(crafted(4, 0xFFFF_FFFF, b"abcd"), count=1),
        lie(crafted(4, 3, b"abcd"), count=1),
        lie(crafted(0, 5, b""), count=1),
        lie(b"", count=0xFFFF_FFFF),
        lie(write_block(b"a"), count=0),
        lie(write_block(b"a")[:7], count=1),
        lie(b"", count=0, codec=7),
        lie(write_block(b"a" * 99), count=1, codec=0),
        lie(b"", count=0, meta_offset=(1 << 64) - 1),
        lie(b"", count=0, meta_offset=0),
        lie(b"", count=0, meta_length=0xFFFF_FFFF),
    ],
)
def test_hostile_numbers_cost_nothing(data: bytes) -> None:
    tracemalloc.start()
    began = time.monotonic()
    with pytest.raises(CheckpointDamaged):
        read(data)
    assert time.monotonic() - began < 1
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@given(st.binary(min_size=8, max_size=300), st.integers(-3, 3).filter(bool))
@settings(max_examples=200)
def test_a_raw_length_that_lies_is_seen(raw: bytes, off: int) -> None:
    raw = raw * 20
    honest = write_block(raw)
    stored = honest[12:]
    with pytest.raises(CheckpointDamaged):
        read(lie(crafted(len(stored), len(raw) + off, stored), count=1))
