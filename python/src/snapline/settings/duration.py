"""Durations as Flink writes them: ``10 s``, ``500 ms``, ``1 h``."""

from __future__ import annotations

import re
from datetime import timedelta

from snapline.errors import InvalidConfiguration

_MILLISECOND = timedelta(milliseconds=1)
# The first name of each unit is the one written.
_NAMES = (
    (86_400_000, ("d", "day", "days")),
    (3_600_000, ("h", "hour", "hours")),
    (60_000, ("min", "m", "minute", "minutes")),
    (1_000, ("s", "sec", "secs", "second", "seconds")),
    (1, ("ms", "milli", "millis", "millisecond", "milliseconds", "")),
)
_UNITS = {name: millis for millis, names in _NAMES for name in names}
_TEXT = re.compile(r"(\d{1,15})\s*([a-z]*)")


def format_duration(duration: timedelta) -> str:
    """In the largest unit that divides it, as Flink does; whole milliseconds."""
    millis = duration // _MILLISECOND
    unit, names = next((unit, names) for unit, names in _NAMES if millis % unit == 0 and (millis or unit == 1))
    return f"{millis // unit} {names[0]}"


def parse_duration(name: str, text: str) -> timedelta:
    """The duration that the setting ``name`` holds; a number without a unit is milliseconds, as in Flink.

    Raises:
        InvalidConfiguration: the text is none.
    """
    match = _TEXT.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise InvalidConfiguration(f"{name} is '{text}'.", "set it to a duration, such as 500 ms, 10 s, 5 min or 1 h.")
    try:
        return timedelta(milliseconds=int(match[1]) * _UNITS[match[2]])
    except OverflowError:
        raise InvalidConfiguration(f"{name} is '{text}'.", "set it to a shorter duration.") from None
