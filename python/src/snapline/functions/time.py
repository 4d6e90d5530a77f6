"""Time stamps: milliseconds since 1970 as in Flink, and naive datetimes in the session's time zone as in Spark."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from operator import index
from zoneinfo import ZoneInfo

from snapline.state.cursor import BEFORE_ALL, NEVER
from snapline.state.wall_clock import EPOCH

_MS = timedelta(milliseconds=1)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo | None:
    """A time zone as Spark names it; None for UTC, where nothing has to be converted."""
    if name in ("UTC", "Etc/UTC", "Z", "GMT", "UT"):
        return None
    match = _OFFSET.fullmatch(name)
    if match is None:
        return ZoneInfo(name)
    offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(offset if match[1] == "+" else -offset) if offset else None


def to_millis(time: datetime | int, zone: tzinfo | None) -> int:
    """A datetime, naive ones in the zone, as milliseconds; a whole number is milliseconds already.

    Raises:
        TypeError: it is neither.
        OverflowError: it has more than 64 bits.
    """
    if not isinstance(time, datetime):
        try:
            millis = index(time)
        except TypeError:
            raise TypeError(
                f"a time is {time!r:.200}, a {type(time).__name__}: give a datetime, or milliseconds as a whole number"
            ) from None
        if not BEFORE_ALL <= millis <= NEVER:
            raise OverflowError(f"a time is {millis} ms, which has more than 64 bits: give one that has not")
        return millis
    if time != time:
        raise TypeError("a time is NaT: give a datetime, or milliseconds as a whole number")
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    elif zone is not None:
        time -= zone.utcoffset(time)  # type: ignore[operator]
    return (time - EPOCH) // _MS


def from_millis(millis: int, zone: tzinfo | None) -> datetime:
    """Milliseconds as a naive datetime in the zone; its ``fold`` is 1 where the clock shows a time again."""
    time = EPOCH + timedelta(milliseconds=millis)
    return time if zone is None else time.replace(tzinfo=timezone.utc).astimezone(zone).replace(tzinfo=None)


def no_time(what: str) -> ValueError:
    """The error for a row without a time, by which windows or a pattern go."""
    return ValueError(
        f"the row has no time, and {what} goes by it: leave such rows out before key_by, as in "
        "df.where(time IS NOT NULL)"
    )
