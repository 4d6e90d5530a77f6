from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from snapline.functions.time import from_millis, to_millis, zone_of


@pytest.mark.parametrize(
    ("zone", "millis"),
    [
        ("UTC", 1577872800123),
        ("Etc/UTC", 1577872800123),
        ("America/New_York", 1577890800123),
        ("+01:00", 1577869200123),
        ("GMT-5", 1577890800123),
        ("UTC+00:00", 1577872800123),
    ],
)
def test_naive_times_are_in_the_zone_of_the_session(zone: str, millis: int) -> None:
    time = datetime(2020, 1, 1, 10, 0, 0, 123_456)
    assert to_millis(time, zone_of(zone)) == millis
    assert from_millis(millis, zone_of(zone)) == time.replace(microsecond=123_000)


def test_times_with_a_zone_and_numbers_mean_what_they_say() -> None:
    time = datetime(2020, 1, 1, 10, tzinfo=timezone(timedelta(hours=2)))
    assert to_millis(time, zone_of("America/New_York")) == 1577865600000
    assert to_millis(5, zone_of("America/New_York")) == 5
    assert to_millis(datetime(1969, 12, 31, 23, 59, 59, 999_500), None) == -1
