from __future__ import annotations

from typing import Any

import pytest

from snapline.errors import InvalidConfiguration
from snapline.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    Evictor,
    GlobalWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)

from .harnesses import at, harness_of, rows, values_of


def every_row(evictor: Evictor) -> Any:
    """A window of all rows, evaluated at each."""
    return values_of(lambda stream: stream.window(GlobalWindows.create()).trigger(CountTrigger.of(1)).evictor(evictor))


class BoundedDelta(DeltaEvictor):
    """Over values that never cease to change."""

    def is_bounded(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("evictor", "expected"),
    [
        (CountEvictor.of(2), [[1], [1, 2], [2, 7], [7, 8]]),
        (CountEvictor.of(2, True), [[1], [1, 2], [1, 2, 7], [2, 7, 8]]),
        (TimeEvictor.of(11), [[1], [1, 2], [2, 7], [7, 8]]),
        (BoundedDelta(6, lambda a, b: abs(a.v - b.v)), [[1], [1, 2], [2, 7], [7, 8]]),
    ],
    ids=["count", "count after", "time", "delta"],
)
def test_rows_are_evicted(evictor: Evictor, expected: list[list[int]]) -> None:
    with every_row(evictor) as harness:
        for row, values in zip(rows(("a", 1, 0), ("a", 2, 5), ("a", 7, 14), ("a", 8, 24)), expected, strict=True):
            assert [each.vs for each in harness.process_batch([row])] == [values]
        stored = harness.state("window-contents", "a")
        assert sum(map(len, stored.values())) == 2, "evicted rows are in the state"


def test_an_aggregate_over_what_is_left() -> None:
    with harness_of(
        lambda stream: stream.window(TumblingEventTimeWindows.of(100)).evictor(CountEvictor.of(2)).sum("v")
    ) as harness:
        harness.process_batch(rows(("a", 1, 0), ("a", 2, 5), ("a", 7, 14)))
        assert [row.v for row in harness.advance_watermark(at(100))] == [9]
        assert harness.num_keys("window-contents") == harness.num_keys("window-count") == 0


class Nothing(Evictor):
    def is_bounded(self) -> bool:
        return True

    def evict_before(self, elements: Any, window: Any, ctx: Any) -> Any:
        return []

    def evict_after(self, elements: Any, window: Any, ctx: Any) -> Any:
        raise AssertionError("the function has seen nothing")


def test_a_window_without_rows_is_not_evaluated() -> None:
    with every_row(Nothing()) as harness:
        assert harness.process_batch(rows(("a", 1, 0))) == []
        assert harness.state("window-contents", "a") is None


@pytest.mark.parametrize(
    "make",
    [lambda: CountEvictor.of(0), lambda: TimeEvictor.of(-1), lambda: DeltaEvictor.of(1, None)],  # type: ignore[arg-type]
)
def test_evictors_that_cannot_be(make: Any) -> None:
    with pytest.raises(InvalidConfiguration):
        make()
