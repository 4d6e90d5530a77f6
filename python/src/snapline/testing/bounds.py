"""Bounds of chunks and epochs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """Bounds of chunks and epochs; the settings of the real operator are larger."""

    chunk_rows: int = 10_000
    max_keys: int = 200_000
    max_bytes: int = 64 << 20
    max_prefetch: int = 1_000
    page_rows: int = 10_000
    in_flight: int = 2
    chunk_bytes: int = 64 << 20
