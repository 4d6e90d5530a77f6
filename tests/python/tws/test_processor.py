"""Processors in the test harness, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedTestHarness
from snapline.tws import function_of

from .processors import Everything, Expiring

ROWS = "k string, n long, name string, ms long"


def harness_of(processor: StatefulProcessor, mode: str, **more: Any) -> KeyedTestHarness:
    output: Any = type(processor).OUTPUT  # type: ignore[attr-defined]
    return KeyedTestHarness(function_of(processor, mode), key="k", schema=ROWS, output=output, **more)


@pytest.mark.parametrize("bounds", [Bounds(), Bounds(chunk_rows=2, max_keys=1)])
def test_states_timers_and_initial_state(bounds: Bounds) -> None:
    with harness_of(Everything(), "ProcessingTime", bounds=bounds) as harness:
        harness.process_initial_state([("a", 5, ["x"])], schema="k string, before long, names array<string>")
        rows = [("a", 2, "x", 1000), ("b", 3, "y", 2000), ("a", 1, "y", 0)]
        found = {row.k: row for row in harness.process_batch(rows)}
        assert found["a"] == ("a", "rows", 8, [1, 2, 1, 2, -2], {"x": 101, "y": 1}, [11_000, 60_000, 61_000])
        assert found["b"] == ("b", "rows", 3, [3], {"y": 1}, [12_000, 62_000])
        (fired,) = harness.advance_processing_time(11_000)
        assert fired == ("a", "timer 11000", 8, [1, 2, 1, 2, -2], {"x": 101, "y": 1}, [11_000, 60_000, 61_000])
        assert [row.what for row in harness.advance_processing_time(61_000)] == [
            "timer 12000",
            "timer 60000",
            "timer 61000",
        ]
        assert harness.state("total", "a") == (8, None)


class Again(Everything):
    """Sets the timer again that it handles: Spark removes it afterwards all the same."""

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        self.handle.registerTimer(expiredTimerInfo.getExpiryTimeInMs())
        return super().handleExpiredTimer(key, timerValues, expiredTimerInfo)


def test_a_timer_that_is_set_again_while_it_fires_is_gone() -> None:
    with harness_of(Again(), "ProcessingTime") as harness:
        harness.process_batch([("a", 1, "x", 0)])
        assert len(harness.advance_processing_time(10_000)) == 1
        assert harness.num_timers() == 1


class Quiet(StatefulProcessor):
    OUTPUT = "k string"

    def init(self, handle: Any) -> None:
        self.handle = handle

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        self.handle.registerTimer(1)
        return iter(())


def test_a_processor_that_lists_no_timers_pays_for_no_list() -> None:
    for processor, states in ((Quiet(), []), (Everything(), ["total", "seen", "counts", "__timers"])):
        with harness_of(processor, "ProcessingTime") as harness:
            assert [spec.name for spec in harness._job.plan.states] == states


def test_what_cannot_be() -> None:
    for processor, mode, found in (
        (Everything, "EventTime", "no StatefulProcessor"),
        (Everything(), "Sometime", "the time mode 'Sometime'"),
        (Expiring(), "None", "a time to live, and the time mode is None"),
    ):
        with pytest.raises(InvalidConfiguration, match=found):
            harness_of(processor, mode) if isinstance(processor, StatefulProcessor) else function_of(processor, mode)  # type: ignore[arg-type]
    with harness_of(Quiet(), "None") as harness, pytest.raises(Exception, match=r"registerTimer\(\) in the time mode"):
        harness.process_batch([("a", 1, "x", 0)])
