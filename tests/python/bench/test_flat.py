# mypy: disable-error-code="import-not-found"
import random

import pytest
from snapline_bench.flat import Point, trend


def line(slope: float, height: float, times: range) -> list[Point]:
    return [Point(at, height + slope * at) for at in times]


def test_what_is_flat_does_not_grow() -> None:
    found = trend(line(0, 50, range(100)))
    assert (found.level, found.growth, found.points) == (50, 0, 100)


def test_growth_is_what_the_line_gains_relative_to_the_mean() -> None:
    found = trend(line(1, 50, range(101)))
    assert found.level == 100
    assert found.growth == pytest.approx(1)


def test_when_it_was_does_not_matter() -> None:
    assert trend(line(1, -900, range(1000, 1101))).growth == pytest.approx(100 / 150)


def test_a_saw_is_flat_and_a_slow_leak_below_it_is_not() -> None:
    chance = random.Random(3)
    saw = [Point(at, 100 + at % 7 * 5 + chance.uniform(-3, 3)) for at in range(700)]
    assert abs(trend(saw).growth) < 0.02
    assert trend([Point(point.at, point.value + 0.03 * point.at) for point in saw]).growth > 0.15


def test_a_moment_that_stands_out_turns_nothing() -> None:
    points = line(0, 50, range(100))
    assert trend([*points[:97], Point(97, 5000), *points[98:]]).growth == 0


@pytest.mark.parametrize("points", [[], line(0, 1, range(2)), [Point(5, value) for value in range(9)]])
def test_too_little_says_nothing(points: list[Point]) -> None:
    assert trend(points) is None


def test_what_is_nothing_has_no_growth() -> None:
    assert trend(line(0, 0, range(100))).growth == 0
