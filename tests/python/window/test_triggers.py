from __future__ import annotations

from typing import Any

import pytest

from snapline import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, ValueStateDescriptor
from snapline.errors import InvalidConfiguration, SnaplineError
from snapline.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

from .harnesses import at, harness_of, rows, values_of


class OnTen(Trigger):
    """Fires on the value 10, and five ms after the first value; keeps a state of each kind."""

    LAST = ValueStateDescriptor("last", "long")
    SEEN = ListStateDescriptor("seen", "long")
    PER = MapStateDescriptor("per", "long", "long")
    SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, "long")

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        last, seen = ctx.get_partitioned_state(self.LAST), ctx.get_partitioned_state(self.SEEN)
        per, total = ctx.get_partitioned_state(self.PER), ctx.get_partitioned_state(self.SUM)
        if last.value() is None:
            ctx.register_event_time_timer(timestamp + 5)
        last.update(element.v)
        seen.add(element.v)
        per[element.v] = per.get(element.v, 0) + 1
        total.add(element.v)
        assert total.get() == sum(seen.get())
        return TriggerResult.FIRE if element.v == 10 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        raise AssertionError("it sets no such timer")

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.SEEN)
        ctx.merge_partitioned_state(self.SUM)

    def clear(self, window: Any, ctx: Any) -> None:
        for descriptor in (self.LAST, self.SEEN, self.PER, self.SUM):
            ctx.get_partitioned_state(descriptor).clear()


def test_a_trigger_of_ones_own_has_state_and_timers() -> None:
    with values_of(lambda stream: stream.window(TumblingEventTimeWindows.of(100)).trigger(OnTen())) as harness:
        assert harness.process_batch(rows(("a", 1, 3), ("a", 10, 4), ("b", 2, 50))) == [("a", 0, 100, [1, 10])]
        # Five ms after the first value of each: a's comes before b's.
        assert harness.advance_watermark(at(7)) == []
        assert harness.advance_watermark(at(60)) == [("a", 0, 100, [1, 10]), ("b", 0, 100, [2])]
        assert harness.process_batch(rows(("a", 10, 61))) == [("a", 0, 100, [10])]
        harness.advance_watermark(at(99))
        assert harness.num_timers() == 0
        for state in ("trigger-state", "window-contents", "window-count", "window-timers"):
            assert harness.num_keys(state) == 0, state


def test_state_of_windows_that_merge_is_merged() -> None:
    with values_of(lambda stream: stream.window(EventTimeSessionWindows.with_gap(10)).trigger(OnTen())) as harness:
        harness.process_batch(rows(("a", 1, 0), ("a", 2, 30)))
        harness.process_batch(rows(("a", 3, 10), ("a", 4, 20)))
        states = harness.state("trigger-state", "a")
        kept = {key.name: value for key, value in states.items() if tuple(key.window) == (0, 40)}
        assert kept["sum"] == 10
        assert sorted(kept["seen"]) == [1, 2, 3, 4]
        assert kept["per"] == {4: 1}


class ValueOnly(OnTen):
    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.LAST)


def test_a_value_cannot_be_merged() -> None:
    harness = values_of(lambda stream: stream.window(EventTimeSessionWindows.with_gap(10)).trigger(ValueOnly()))
    with harness, pytest.raises(SnaplineError, match="value state last of windows that merge"):
        harness.process_batch(rows(("a", 1, 0), ("a", 2, 5)))


def test_counts_go_on_over_batches() -> None:
    count = lambda stream: stream.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(3)))  # noqa: E731
    with values_of(count) as harness:
        assert harness.process_batch(rows(("a", 1, 0), ("a", 2, 1))) == []
        assert harness.process_batch(rows(("a", 3, 2), ("a", 4, 3))) == [("a", None, None, [1, 2, 3])]
        assert harness.process_batch(rows(("a", 5, 2), ("a", 6, 3))) == [("a", None, None, [4, 5, 6])]


def test_processing_time_goes_by_the_micro_batch() -> None:
    with values_of(lambda stream: stream.window(TumblingProcessingTimeWindows.of(10))) as harness:
        harness.set_times(processing=at(3))
        harness.process_batch(rows(("a", 1, 900)))
        assert harness.advance_processing_time(at(8)) == []
        harness.process_batch(rows(("a", 2, 0)))
        assert harness.advance_processing_time(at(25)) == [("a", 0, 10, [1, 2])]
        assert harness.num_timers() == 0


def test_a_timer_of_processing_time_fires_no_window_that_ended_the_lateness_before() -> None:
    windows = TumblingEventTimeWindows.of(10)
    with values_of(lambda s: s.window(windows).allowed_lateness(10).trigger(ProcessingTimeTrigger())) as harness:
        harness.process_batch(rows(("a", 1, 3), ("a", 2, 13)))
        assert harness.advance_processing_time(at(9)) == [("a", 0, 10, [1])]
        assert harness.advance_processing_time(at(19)) == [("a", 10, 20, [2])]


def test_sessions_of_processing_time_end_by_themselves() -> None:
    with values_of(lambda stream: stream.window(ProcessingTimeSessionWindows.with_gap(10))) as harness:
        harness.set_times(processing=at(3))
        harness.process_batch(rows(("a", 1, 0)))
        harness.set_times(processing=at(9))
        harness.process_batch(rows(("a", 2, 0)))
        assert harness.advance_processing_time(at(17)) == []
        assert harness.advance_processing_time(at(18)) == [("a", 3, 19, [1, 2])]
        assert harness.num_timers() == 0


def test_sessions_of_processing_time_go_by_the_clock_of_a_live_micro_batch() -> None:
    with values_of(lambda stream: stream.window(ProcessingTimeSessionWindows.with_gap(10))) as harness:
        with harness.live() as batch:
            assert batch.process(*rows(("a", 1, 0))) == []
            assert batch.advance_processing_time(at(8)) == []
            assert batch.process(*rows(("a", 2, 0))) == []
            assert batch.advance_processing_time(at(10)) == []
            assert batch.advance_processing_time(at(17)) == [("a", 0, 18, [1, 2])]
            assert batch.process(*rows(("a", 3, 0))) == []
            assert batch.advance_processing_time(at(20)) == []
            assert batch.process(*rows(("a", 4, 0), ("b", 5, 0))) == []
            assert batch.advance_processing_time(at(29)) == [("a", 17, 30, [3, 4]), ("b", 20, 30, [5])]
        assert harness.num_timers() == 0


class Every(Trigger):
    """Fires ten ms after each row, and every ten ms from then on."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 10)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        assert ctx.get_current_processing_time() >= time
        ctx.register_processing_time_timer(time + 10)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        raise AssertionError("it sets no such timer")

    def clear(self, window: Any, ctx: Any) -> None:
        pass


def test_a_trigger_reads_the_clock_of_a_live_micro_batch() -> None:
    with (
        values_of(lambda stream: stream.window(GlobalWindows.create()).trigger(Every())) as harness,
        harness.live() as batch,
    ):
        batch.process(*rows(("a", 1, 0)))
        assert batch.advance_processing_time(at(7)) == []
        batch.process(*rows(("b", 2, 0)))
        assert batch.advance_processing_time(at(10)) == [("a", None, None, [1])]
        assert batch.advance_processing_time(at(17)) == [("b", None, None, [2])]
        assert batch.advance_processing_time(at(20)) == [("a", None, None, [1])]


def test_a_clock_that_passes_many_intervals_at_once_fires_each() -> None:
    windows = lambda stream: stream.window(TumblingProcessingTimeWindows.of(100)).trigger(  # noqa: E731
        ContinuousProcessingTimeTrigger.of(10)
    )
    with values_of(windows) as harness:
        harness.set_times(processing=at(3))
        harness.process_batch(rows(("a", 1, 0)))
        assert harness.advance_processing_time(at(31)) == [("a", 0, 100, [1])] * 3
        harness.advance_processing_time(at(99))
        assert harness.num_timers() == 0


class Endless(ContinuousProcessingTimeTrigger):
    fired = 0

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        self.fired += 1
        assert self.fired < 9, "it goes on for ever"
        return super().on_processing_time(time, window, ctx)


def test_at_the_end_of_bounded_rows_timers_are_set_up_to_the_end_of_the_window(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trigger = ContinuousEventTimeTrigger.of(10)
    with values_of(lambda stream: stream.window(TumblingEventTimeWindows.of(30)).trigger(trigger)) as harness:
        assert harness.process_bounded(rows(("a", 1, 3))) == [("a", 0, 30, [1])] * 3
        assert harness.num_timers() == 0
    assert caplog.messages == []
    with harness_of(lambda stream: stream.window(GlobalWindows.create()).trigger(Endless(10)).sum("v")) as harness:
        assert [row.v for row in harness.process_bounded(rows(("a", 1, 3), ("a", 2, 4)))] == [3]
    (said,) = caplog.messages
    assert said.startswith("The trigger Endless sets a timer when another one fires.")


@pytest.mark.parametrize("make", [lambda: CountTrigger.of(0), lambda: PurgingTrigger.of(CountTrigger)])  # type: ignore[arg-type]
def test_triggers_that_cannot_be(make: Any) -> None:
    with pytest.raises(InvalidConfiguration):
        make()
