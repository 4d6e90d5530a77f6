"""Time stamps: milliseconds since 1970 as in Flink, and naive datetimes in the session's time zone as in Spark."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1)
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
    """A datetime, naive ones in the zone, as milliseconds; an int is milliseconds already."""
    if isinstance(time, int):
        return time
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    elif zone is not None:
        time -= zone.utcoffset(time)  # type: ignore[operator]
    return (time - EPOCH) // _MS


def from_millis(millis: int, zone: tzinfo | None) -> datetime:
    """Milliseconds as a naive datetime in the zone."""
    time = EPOCH + timedelta(milliseconds=millis)
    return time if zone is None else time.replace(tzinfo=timezone.utc).astimezone(zone).replace(tzinfo=None)
