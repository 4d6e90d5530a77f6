"""The frame that changelogs and handles share (docs/FORMAT.md, section 2). Believes nothing it reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import google_crc32c

from snapline.errors import CheckpointDamaged, UnsupportedVersion
from snapline.format import lz4
from snapline.format.names import Kind
from snapline.format.source import Source

FORMAT_NUMBER = 1
# The greatest that is read: a _metadata of format 2 names handles in merged files; a savepoint's, files of the store.
_NEWEST = {Kind.CHECKPOINT: 2, Kind.SAVEPOINT: 3}
CODEC_NONE = 0
CODEC_LZ4 = 1
END_MAGIC = b"SNAPLEND"
MAX_RAW_BYTES = 1 << 30

HEADER = struct.Struct("<8sHBBI")
BLOCK = struct.Struct("<III")
TRAILER = struct.Struct("<QIIII8s")

# One read brings in all of a small file, and the end of a large one with its meta.
_READ_AHEAD = 1 << 16


def newest_format(kind: Kind) -> int:
    """The greatest format number that is read of a kind of file."""
    return _NEWEST.get(kind, FORMAT_NUMBER)


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), unsigned."""
    return int(google_crc32c.value(data))


class Unfinished(CheckpointDamaged):
    """The file ends too early. That is damage where the file is needed, and else what a killed task leaves behind."""


def damaged(path: str, what: str, kind: type[CheckpointDamaged] = CheckpointDamaged) -> CheckpointDamaged:
    """The error for a file that fails a check."""
    return kind(
        f"{path}: {what}.",
        "run `snapline checkpoints verify` on the checkpoint; it names the newest version that loads.",
    )


def write_meta_frame(kind: Kind, meta: bytes, number: int = FORMAT_NUMBER) -> bytes:
    """A framed file that has a meta and no blocks."""
    header = HEADER.pack(kind.magic, number, CODEC_NONE, 0, 0)[:12]
    header += struct.pack("<I", crc32c(header))
    trailer = TRAILER.pack(len(header), len(meta), crc32c(meta), 0, 0, END_MAGIC)[:20]
    return header + meta + trailer + struct.pack("<I", crc32c(trailer)) + END_MAGIC


class FrameReader:
    """Reads one framed file. The frame and the meta are checked at once, each block before its bytes are given out.

    Does not own the source.

    Raises:
        CheckpointDamaged: anything does not add up.
        UnsupportedVersion: the format number is unknown.
    """

    def __init__(self, source: Source, kind: Kind) -> None:
        self._source = source
        self._path = source.path
        self.size = source.size
        if self.size < HEADER.size + TRAILER.size:
            raise self._unfinished(f"{self.size} bytes are too few, so it was never written to its end")
        self._tail_offset = max(0, self.size - _READ_AHEAD)
        self._tail = source.read_at(self._tail_offset, self.size - self._tail_offset)
        self._meta_offset, meta_length, meta_crc, self.blocks = self._check_trailer()
        self.codec = self._check_header(kind)
        if self._meta_offset < HEADER.size or self._meta_offset + meta_length + TRAILER.size != self.size:
            raise self._damaged("the lengths in its trailer do not add up to its own")
        self.meta = self._read(self._meta_offset, meta_length)
        if crc32c(self.meta) != meta_crc:
            raise self._damaged("the checksum of its meta does not fit")

    def _check_trailer(self) -> tuple[int, int, int, int]:
        trailer = self._read(self.size - TRAILER.size, TRAILER.size)
        meta_offset, meta_length, meta_crc, blocks, crc, magic = TRAILER.unpack(trailer)
        if magic != END_MAGIC:
            raise self._unfinished("its end is missing, so it was cut short or overwritten")
        if crc32c(trailer[:20]) != crc:
            raise self._damaged("the checksum of its trailer does not fit")
        return meta_offset, meta_length, meta_crc, blocks

    def _check_header(self, kind: Kind) -> int:
        header = self._read(0, HEADER.size)
        magic, number, codec, _, crc = HEADER.unpack(header)
        if magic != kind.magic:
            raise self._damaged(f"it does not begin with {kind.magic.decode()}")
        if crc32c(header[:12]) != crc:
            raise self._damaged("the checksum of its header does not fit")
        newest = _NEWEST.get(kind, FORMAT_NUMBER)
        if not FORMAT_NUMBER <= number <= newest:
            raise UnsupportedVersion(
                f"{self._path} has format {number}; this version reads format "
                f"{' and '.join(map(str, range(FORMAT_NUMBER, newest + 1)))}.",
                "use the version of Snapline that wrote it, or a later one.",
            )
        if codec not in (CODEC_NONE, CODEC_LZ4):
            raise self._damaged(f"its codec {codec} is unknown")
        return int(codec)

    def read_blocks(self) -> Iterator[bytes]:
        """The raw bytes of each block, in order. May be called again."""
        position = HEADER.size
        seen = 0
        while position < self._meta_offset:
            raw, position = self._read_block(seen, position)
            seen += 1
            yield raw
        if seen != self.blocks:
            raise self._damaged(f"it has {seen} blocks and names {self.blocks}")

    def _read_block(self, number: int, position: int) -> tuple[bytes, int]:
        start = position + BLOCK.size
        if start > self._meta_offset:
            raise self._damaged(f"the header of block {number} is cut short")
        header = self._read(position, BLOCK.size)
        stored_length, raw_length, crc = BLOCK.unpack(header)
        if not self._possible(stored_length, raw_length, self._meta_offset - start):
            raise self._damaged(f"block {number} has impossible lengths")
        stored = self._read(start, stored_length)
        if google_crc32c.extend(crc32c(header[:8]), stored) != crc:
            raise self._damaged(f"the checksum of block {number} does not fit")
        if stored_length == raw_length:
            return stored, start + stored_length
        raw = lz4.decompress(stored, raw_length)
        if raw is None:
            raise self._damaged(f"block {number} does not decompress to its length")
        return raw, start + stored_length

    def _possible(self, stored: int, raw: int, room: int) -> bool:
        """Whether a block can have these lengths. Asked before any memory is taken for it."""
        if stored > room or raw > MAX_RAW_BYTES:
            return False
        return stored == raw or (self.codec != CODEC_NONE and stored < raw <= stored * lz4.MAX_RATIO)

    def _read(self, offset: int, length: int) -> bytes:
        if offset >= self._tail_offset:
            begin = offset - self._tail_offset
            data = self._tail[begin : begin + length]
        else:
            data = self._source.read_at(offset, length)
        if len(data) != length:
            raise self._damaged("it ended while it was read")
        return data

    def _damaged(self, what: str) -> CheckpointDamaged:
        return damaged(self._path, what)

    def _unfinished(self, what: str) -> CheckpointDamaged:
        return damaged(self._path, what, Unfinished)
