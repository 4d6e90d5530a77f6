"""Instants, and the times that the clocks of a time zone show: naive, with a ``fold`` for an hour that comes twice.

The rules are those of Python's ``zoneinfo``, for single values and whole columns alike. Arrow has rules of its own, and
they end in 2037.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

EPOCH = datetime(1970, 1, 1)
_MICROSECOND, _SECOND = timedelta(microseconds=1), timedelta(seconds=1)
#: Clock changes are looked for from one of these to the next.
_STEP = timedelta(days=2)
#: Years from the first to the last of a column that are all looked at; of a longer stretch only those that occur.
_STRETCH = 64
_FIRST_YEAR, _LAST_YEAR = 2, 9998
_DAY = 86_400_000_000


class RepeatedTime(datetime):
    """A time of a doubled hour's second half, as a key: not equal to the same time of the first half.

    Python's datetimes are equal whatever their ``fold``, though they are two instants.
    """

    def __eq__(self, other: object) -> bool:
        # Sums of it are of this class too, and have no fold.
        return isinstance(other, datetime) and other.fold == self.fold and datetime.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = datetime.__hash__

    def __repr__(self) -> str:
        return repr(self.plain())

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A pickle has to be readable wherever there is Python.
        return self.plain().__reduce_ex__(protocol)

    def plain(self) -> datetime:
        """The same time as anybody's datetime."""
        return datetime.combine(self.date(), self.timetz())


def repeated_key(time: datetime) -> datetime:
    """A naive datetime that is equal to those of the same instant only."""
    if not time.fold:
        return time
    return RepeatedTime(time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond, fold=1)


class _Rules(NamedTuple):
    """Offsets to UTC in microseconds: from each instant on, and right before it."""

    starts: Any
    offsets: Any
    before: Any


class WallClock:
    """The clock of a time zone."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def local(self, instants: Any) -> tuple[Any, Any]:
        """Microseconds since 1970 as those that the clock shows, and where the clock shows them for the second time."""
        if not len(instants):
            return instants, []
        rules = self._rules(instants, 0)
        first, last = (int(np.searchsorted(rules.starts, end, "right")) - 1 for end in (instants.min(), instants.max()))
        if first == last:
            at: Any = max(first, 0)
            if rules.before[at] <= rules.offsets[at]:
                return instants + rules.offsets[at], []
        else:
            at = np.maximum(np.searchsorted(rules.starts, instants, "right") - 1, 0)
        since = instants - rules.starts[at]
        repeated = (since >= 0) & (since < rules.before[at] - rules.offsets[at])
        return instants + rules.offsets[at], np.flatnonzero(repeated).tolist()

    def instants(self, local: Any) -> tuple[Any, Any, Any]:
        """The reverse: the instants of the first halves of doubled hours, where other values are, and those.

        A time that the clock skips is taken as if the clock had not been changed yet, as Java and Python do.
        """
        if not len(local):
            return local, [], []
        rules = self._rules(local, _DAY)
        later = np.maximum.accumulate(rules.starts + np.maximum(rules.before, rules.offsets))
        sooner = np.maximum.accumulate(rules.starts + np.minimum(rules.before, rules.offsets))
        ends = np.array([local.min(), local.max()])
        found = {int(at) for each in (later, sooner) for at in np.searchsorted(each, ends, "right") - 1}
        if len(found) == 1:
            return local - rules.offsets[max(found.pop(), 0)], [], []
        at = np.maximum(np.searchsorted(later, local, "right") - 1, 0)
        other_at = np.maximum(np.searchsorted(sooner, local, "right") - 1, 0)
        places = np.flatnonzero(at != other_at)
        return local - rules.offsets[at], places.tolist(), local[places] - rules.offsets[other_at[places]]

    def _rules(self, micros: Any, margin: int) -> _Rules:
        first, last = (_year(end) for end in (int(micros.min()) - margin, int(micros.max()) + margin))
        if last - first <= _STRETCH:
            years = list(range(first, last + 1))
        else:
            parts = [micros] if not margin else [micros - margin, micros + margin]
            found = np.unique(np.concatenate([part.view("M8[us]").astype("M8[Y]") for part in parts]))
            years = sorted({_clamped(1970 + year) for year in found.astype(np.int64).tolist()})
        return _rules(self._zone, tuple(years))

    def canonical(self, time: datetime) -> datetime:
        """A naive datetime as the clock shows it: without a fold that means nothing, and never skipped."""
        if is_regular(self._zone, time.toordinal()):
            return time.replace(fold=0) if time.fold else time
        return self.of(time.replace(tzinfo=self._zone))

    def of(self, time: datetime) -> datetime:
        """A datetime with a zone as the clock shows it."""
        return time.astimezone(timezone.utc).astimezone(self._zone).replace(tzinfo=None)


@lru_cache(maxsize=1 << 14)
def is_regular(zone: tzinfo, day: int) -> bool:
    """Whether the clock is not changed on a day, nor on those beside it."""
    if not 2 < day < 3_652_057:
        return True
    at = datetime.fromordinal(day)
    return len({_offset(zone, at + timedelta(days=i)) for i in range(-1, 3)}) == 1


def _year(micros: int) -> int:
    return _clamped(1970 + int(np.datetime64(micros, "us").astype("M8[Y]").astype(np.int64)))


def _clamped(year: int) -> int:
    return min(max(year, _FIRST_YEAR), _LAST_YEAR)


def _offset(zone: tzinfo, instant: datetime) -> int:
    """In microseconds, at a naive datetime in UTC."""
    local = instant.replace(tzinfo=timezone.utc).astimezone(zone).replace(tzinfo=None)
    return (local - instant) // _MICROSECOND


@lru_cache(maxsize=256)
def _rules(zone: tzinfo, years: tuple[int, ...]) -> _Rules:
    changes = np.array([change for year in years for change in _changes(zone, year)], np.int64)
    return _Rules(changes[:, 0], changes[:, 1], changes[:, 2])


@lru_cache(maxsize=4096)
def _changes(zone: tzinfo, year: int) -> tuple[tuple[int, int, int], ...]:
    """The beginning of a year and each change of the offset in it: the instant, the new offset and the one before."""
    begin = datetime(year, 1, 1)
    before = _offset(zone, begin - _SECOND)
    found = [(_micros(begin), _offset(zone, begin), before)]
    end = datetime(year + 1, 1, 1) - _SECOND
    at, offset = begin, found[0][1]
    while at < end:
        upto = min(at + _STEP, end)
        new = _offset(zone, upto)
        if new != offset:
            found.append((_micros(_change(zone, at, upto, offset)), new, offset))
        at, offset = upto, new
    return tuple(found)


def _change(zone: tzinfo, low: datetime, high: datetime, offset: int) -> datetime:
    """The first second between the two at which the offset is another."""
    while high - low > _SECOND:
        middle = low + (high - low) // _SECOND // 2 * _SECOND
        if _offset(zone, middle) == offset:
            low = middle
        else:
            high = middle
    return high


def _micros(time: datetime) -> int:
    return (time - EPOCH) // _MICROSECOND
