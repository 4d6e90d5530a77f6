# mypy: disable-error-code="import-not-found"
import random

import pytest
from snapline_bench.soak_rows import BUCKETS, DELAY, FIRST, GAP, TTL, WINDOW, Bursts, differences

BURSTS = Bursts(rows=6, keys=12, groups=13, burst=3)


def by_hand(bursts: Bursts, seconds: int) -> dict[tuple[int, int], list[int]]:
    """As the function of the soak does it, with timers and times to live; watermark and rows second by second."""
    counts: dict[int, int] = {}
    timers: dict[int, int] = {}
    seen: dict[int, int] = {}
    windows: dict[tuple[int, int], list[int]] = {}
    for second in range(seconds):
        watermark = second - 1 - DELAY
        for key in [key for key, at in timers.items() if at <= watermark]:
            del counts[key], timers[key]
        for value in range(second * bursts.rows, (second + 1) * bursts.rows):
            key = second // bursts.burst % bursts.groups * bursts.keys + value % bursts.keys
            counts[key] = counts.get(key, 0) + 1
            timers[key] = second + GAP
            first = key not in seen or seen[key] + TTL <= watermark
            seen[key] = second
            window = windows.setdefault((FIRST + second // WINDOW * WINDOW, key % BUCKETS), [0, 0, 0])
            for index, more in enumerate((1, counts[key], int(first))):
                window[index] += more
    return windows


def output(batches: int) -> list[tuple[int, ...]]:
    """Of a run that is right: windows that are closed, in any order."""
    rows = [row for row in BURSTS.expected(batches).values() if row[0] + WINDOW <= FIRST + batches - 1 - DELAY]
    random.Random(3).shuffle(rows)
    return rows


def test_expected_is_what_a_plain_loop_finds() -> None:
    seconds = 3 * BURSTS.groups * BURSTS.burst + 7
    expected = {place: list(row[2:]) for place, row in BURSTS.expected(seconds).items()}
    assert expected == by_hand(BURSTS, seconds)
    assert any(numbers > rows for rows, numbers, _ in expected.values()), "some key has more than one row in a burst"


def test_right_output_has_no_differences() -> None:
    assert differences(output(120), BURSTS, 120) == []


def test_a_row_that_counts_twice_is_found() -> None:
    rows = output(120)
    start, bucket, count, *rest = rows[5]
    rows[5] = (start, bucket, count + 1, *rest)
    (found,) = differences(rows, BURSTS, 120)
    assert str((start, bucket, count + 1)).rstrip(")") in found


def test_a_window_that_is_missing_or_twice_is_found() -> None:
    rows = sorted(output(120))
    assert len(differences(rows[1:], BURSTS, 120)) == 1
    assert differences([*rows, rows[0]], BURSTS, 120) == ["1 windows twice"]


def test_a_window_that_is_not_closed_may_be_missing() -> None:
    last = max(row[0] for row in output(120))
    assert last + WINDOW > FIRST + 120 - 2 * WINDOW


@pytest.mark.parametrize("wrong", [{"rows": 5}, {"groups": 4}, {"burst": 12}])
def test_bursts_that_would_depend_on_timing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(AssertionError):
        Bursts(**{"rows": 6, "keys": 12, "groups": 13, "burst": 3, **wrong})
