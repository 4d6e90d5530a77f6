"""Columns of instants and local times against Python's own time zones."""

from __future__ import annotations

import pickle
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapline.state.wall_clock import EPOCH, WallClock, repeated_key

ZONES = [
    "America/New_York",
    "Europe/London",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Africa/Casablanca",
]
MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    return (time - EPOCH) // MICROSECOND


def near_changes(zone: str) -> list[datetime]:
    """Instants around each time that the clock was changed, far into the future too."""
    clock, found = ZoneInfo(zone), []
    for year in (1916, 1945, 1970, 2011, 2013, 2024, 2037, 2038, 2100):
        at = datetime(year, 1, 1, tzinfo=timezone.utc)
        while at.year == year:
            later = at + timedelta(hours=1)
            if at.astimezone(clock).utcoffset() != later.astimezone(clock).utcoffset():
                found.append(at.replace(tzinfo=None))
            at = later
    return found


@pytest.mark.parametrize("zone", ZONES)
def test_columns_agree_with_single_values(zone: str) -> None:
    clock, python = WallClock(ZoneInfo(zone)), ZoneInfo(zone)
    anywhere = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
    close = st.sampled_from(near_changes(zone) or [EPOCH])
    near = st.builds(lambda at, off: at + off, close, st.timedeltas(timedelta(hours=-3), timedelta(hours=3)))
    far = st.sampled_from([datetime(9999, 12, 30), datetime(2, 1, 5)])

    @settings(max_examples=150, deadline=None)
    @given(st.lists(near, min_size=1, max_size=6) | st.lists(near | anywhere | far, min_size=1, max_size=8))
    def check(instants: list[datetime]) -> None:
        local, repeated = clock.local(np.array([micros(each) for each in instants], np.int64))
        shown = [each.replace(tzinfo=timezone.utc).astimezone(python).replace(tzinfo=None) for each in instants]
        assert local.tolist() == [micros(each) for each in shown]
        assert repeated == [i for i, each in enumerate(shown) if each.fold]
        back, doubtful, others = clock.instants(local)
        for i, other in zip(doubtful, others, strict=True):
            if shown[i].fold:
                back[i] = other
        assert back.tolist() == [micros(each) for each in instants]
        assert [clock.canonical(each) for each in shown] == shown
        assert [clock.canonical(each).fold for each in shown] == [each.fold for each in shown]

    check()


@pytest.mark.parametrize("fold", [0, 1])
def test_a_time_that_the_clock_skips_is_taken_as_python_takes_it(fold: int) -> None:
    zone = ZoneInfo("America/New_York")
    skipped = datetime(2013, 3, 10, 2, 30, fold=fold)
    instants, doubtful, others = WallClock(zone).instants(np.array([micros(skipped)], np.int64))
    (instant,) = others if fold else instants
    expected = skipped.replace(tzinfo=zone).astimezone(timezone.utc).replace(tzinfo=None)
    assert (doubtful, int(instant)) == ([0], micros(expected))
    assert WallClock(zone).canonical(skipped) == datetime(2013, 3, 10, 1 if fold else 3, 30)


def test_keys_of_a_doubled_hour_are_told_apart() -> None:
    first = datetime(2013, 11, 3, 1, 30)
    second = repeated_key(first.replace(fold=1))
    assert repeated_key(first) is first
    assert first != second
    assert second != first
    assert second == first.replace(fold=1)
    assert {first: 1, second: 2} == {second: 2, first: 1}
    assert len({first, second, repeated_key(second)}) == 2
    assert second + timedelta(days=1) == datetime(2013, 11, 4, 1, 30)
    assert repr(second) == repr(first.replace(fold=1))
    plain = pickle.loads(pickle.dumps(second))
    assert (type(plain), plain, plain.fold) == (datetime, first, 1)
