"""How much memory values take, roughly: enough to end an epoch in time, cheap enough to ask after every chunk."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

_SAMPLE = 16
#: An object of Python and its place in a list or dict.
OVERHEAD = 64


def average_weight(values: Sequence[Any]) -> int:
    """Bytes per value, from a few of them."""
    if not values:
        return OVERHEAD
    sample = values[:: max(1, len(values) // _SAMPLE)]
    return OVERHEAD + sum(map(weight, sample)) // len(sample)


def weight(value: Any, depth: int = 3) -> int:
    if value is None or isinstance(value, (int, float)):
        return 8
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    if depth and isinstance(value, dict):
        return 2 * _of_many(list(value.values()), depth)
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return _of_many(list(value), depth)
    if depth and hasattr(value, "__dict__"):
        return sys.getsizeof(value) + _of_many(list(vars(value).values()), depth)
    return sys.getsizeof(value)


def _of_many(values: list[Any], depth: int) -> int:
    if not values:
        return 0
    sample = values[:: max(1, len(values) // _SAMPLE)]
    return len(values) * (OVERHEAD + sum(weight(each, depth - 1) for each in sample) // len(sample))
