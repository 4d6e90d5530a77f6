"""LZ4 block format, through Arrow."""

from __future__ import annotations

import pyarrow

_codec = pyarrow.Codec("lz4_raw")

# The format cannot expand further: a larger raw length is a lie, told before memory is taken for it.
MAX_RATIO = 256


def decompress(data: bytes, raw_length: int) -> bytes | None:
    """The raw bytes; None if ``data`` is not the compressed form of exactly that many."""
    if not 1 < raw_length <= len(data) * MAX_RATIO:
        return None
    try:
        raw = _codec.decompress(data, raw_length, asbytes=True)
    except OSError:
        return None
    # Arrow does not tell how much it wrote. Data that also fits into one byte less was shorter than told.
    try:
        _codec.decompress(data, raw_length - 1)
    except OSError:
        return bytes(raw)
    return None
