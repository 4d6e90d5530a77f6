"""Sizes as settings write them: ``20k``, ``128m``, ``1g``; a number alone is bytes."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d{1,15})\s*([bkmg]?)b?")
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_size(text: str) -> int | None:
    """In bytes; None: the text is no size."""
    match = _SIZE.fullmatch(text.strip().lower())
    return None if match is None else int(match[1]) * _UNITS[match[2]]


def format_size(size: int) -> str:
    """In the largest unit that divides it."""
    unit = next((unit for unit in "gmk" if size and size % _UNITS[unit] == 0), "")
    return f"{size // _UNITS[unit]}{unit}"
