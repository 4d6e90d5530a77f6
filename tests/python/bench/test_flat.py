# mypy: disable-error-code="import-not-found"
import pytest
from snapline_bench.flat import Point, trend


def line(slope: float, height: float, times: range, life: int = 0) -> list[Point]:
    return [Point(at, height + slope * at, life) for at in times]


def test_what_is_flat_does_not_grow() -> None:
    found = trend(line(0, 50, range(0, 100)), 100)
    assert (found.level, found.growth, found.points) == (50, 0, 50)


def test_growth_is_what_the_second_half_gains_relative_to_its_mean() -> None:
    found = trend(line(1, 0, range(0, 101)), 100)
    assert found.level == 75
    assert found.growth == pytest.approx(50 / 75)


def test_what_came_before_the_second_half_does_not_count() -> None:
    assert trend([*line(9, 0, range(0, 50)), *line(0, 450, range(50, 100))], 100).growth == pytest.approx(0)


def test_a_life_that_begins_lower_hides_no_growth() -> None:
    saw = [*line(2, 0, range(50, 75), 1), *line(2, -120, range(75, 100), 2)]
    assert trend([Point(point.at, point.value) for point in saw], 100).growth < 0
    assert trend(saw, 100).growth * trend(saw, 100).level == pytest.approx(2 * 50)


def test_a_life_that_begins_higher_is_no_growth() -> None:
    steps = [*line(0, 10, range(50, 75), 1), *line(0, 30, range(75, 100), 2)]
    assert trend(steps, 100).growth == pytest.approx(0)
    assert trend([Point(point.at, point.value) for point in steps], 100).growth > 0.5


@pytest.mark.parametrize("points", [[], line(0, 1, range(0, 40)), [Point(60 + life, 1, life) for life in range(5)]])
def test_too_little_says_nothing(points: list[Point]) -> None:
    assert trend(points, 100) is None


def test_what_is_nothing_has_no_growth() -> None:
    assert trend(line(0, 0, range(0, 100)), 100).growth == 0
