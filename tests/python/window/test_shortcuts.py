"""Subclasses of triggers and assigners that override a method: what their base says of itself is no longer true."""

from __future__ import annotations

from typing import Any

import pytest

from snapline import ValueStateDescriptor
from snapline.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from snapline.window.shortcuts import (
    assigner_has_state,
    knows_ends,
    merges_spans,
    rest_of,
    timers_of,
    trigger_has_state,
)

from .harnesses import at, rows, values_of


class Longer(TumblingEventTimeWindows):
    """Its windows last half as long again, so that they overlap."""

    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        return [TimeWindow(each.start, each.end + 5) for each in super().assign_windows(element, timestamp, context)]


def test_windows_that_end_elsewhere_fire_at_their_end() -> None:
    with values_of(lambda stream: stream.window(Longer.of(10))) as harness:
        harness.process_batch(rows(("a", 1, 3), ("a", 2, 12)))
        assert harness.advance_watermark(at(13)) == []
        assert harness.advance_watermark(at(14)) == [("a", 0, 15, [1])]
        assert harness.advance_watermark(at(24)) == [("a", 10, 25, [2])]
        assert harness.num_timers() == 0


class Numbered(TumblingEventTimeWindows):
    """Every other row of a key has no window, by state of the key."""

    COUNT = ValueStateDescriptor("count", "long")

    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        state = context.get_runtime_context().get_state(self.COUNT)
        count = state.value() or 0
        state.update(count + 1)
        return [] if count % 2 else super().assign_windows(element, timestamp, context)


def test_an_assigner_may_ask_for_state_that_its_base_does_not() -> None:
    with values_of(lambda stream: stream.window(Numbered.of(10))) as harness:
        harness.process_batch(rows(("a", 1, 3), ("a", 2, 4), ("a", 3, 5)))
        assert harness.advance_watermark(at(9)) == [("a", 0, 10, [1, 3])]


class Early(EventTimeTrigger):
    """Fires on the value 10 too, and counts such rows in its state."""

    COUNT = ValueStateDescriptor("count", "long")

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        if element.v != 10:
            return TriggerResult.CONTINUE
        count = ctx.get_partitioned_state(self.COUNT)
        count.update((count.value() or 0) + 1)
        return TriggerResult.FIRE

    def clear(self, window: Any, ctx: Any) -> None:
        super().clear(window, ctx)
        ctx.get_partitioned_state(self.COUNT).clear()


@pytest.mark.parametrize("windows", [TumblingEventTimeWindows.of(20), EventTimeSessionWindows.with_gap(20)], ids=repr)
def test_a_trigger_is_asked_for_every_row(windows: Any) -> None:
    end = 20 if isinstance(windows, TumblingEventTimeWindows) else 25
    first = 0 if isinstance(windows, TumblingEventTimeWindows) else 3
    with values_of(lambda stream: stream.window(windows).trigger(Early())) as harness:
        assert harness.process_batch(rows(("a", 1, 3), ("a", 10, 5))) == [("a", first, end, [1, 10])]
        assert harness.advance_watermark(at(end - 1)) == [("a", first, end, [1, 10])]
        assert (harness.num_timers(), harness.num_keys("trigger-state")) == (0, 0)


def test_a_trigger_that_purges_is_asked_as_the_one_inside_it() -> None:
    purging = PurgingTrigger.of(Early())
    with values_of(lambda stream: stream.window(TumblingEventTimeWindows.of(20)).trigger(purging)) as harness:
        assert harness.process_batch(rows(("a", 1, 3), ("a", 10, 5), ("a", 2, 6))) == [("a", 0, 20, [1, 10])]
        assert harness.advance_watermark(at(19)) == [("a", 0, 20, [2])]


class Reminding(EventTimeTrigger):
    """Fires once more, five ms after the end of the window."""

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        end = window.max_timestamp()
        if time == end:
            ctx.register_event_time_timer(end + 5)
        return TriggerResult.FIRE if time in (end, end + 5) else TriggerResult.CONTINUE


def test_a_trigger_may_set_timers_that_its_base_does_not() -> None:
    windows = TumblingEventTimeWindows.of(10)
    with values_of(lambda s: s.window(windows).allowed_lateness(8).trigger(Reminding())) as harness:
        harness.process_batch(rows(("a", 1, 3)))
        assert harness.advance_watermark(at(9)) == [("a", 0, 10, [1])]
        assert harness.advance_watermark(at(14)) == [("a", 0, 10, [1])]
        assert harness.advance_watermark(at(30)) == []
        assert harness.num_timers() == 0


class Apart(EventTimeSessionWindows):
    """Sessions that never merge."""

    def merge_windows(self, windows: Any, callback: Any) -> None:
        return


def test_sessions_merge_as_their_assigner_says() -> None:
    with values_of(lambda stream: stream.window(Apart.with_gap(10))) as harness:
        harness.process_batch(rows(("a", 1, 0), ("a", 2, 5)))
        assert harness.advance_watermark(at(9)) == [("a", 0, 10, [1])]
        assert harness.advance_watermark(at(14)) == [("a", 5, 15, [2])]


class Named(EventTimeTrigger):
    """Overrides nothing."""


class Counted(EventTimeTrigger):
    """Overrides a method, and says that what its base says is true of it."""

    timers = "end"
    has_state = False
    rests = "before the end"

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        return super().on_element(element, timestamp, window, ctx)


class Mixin:
    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE


class Mixed(Mixin, EventTimeTrigger):
    """Overrides a method by a class beside its base."""


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        (EventTimeTrigger(), ("end", "before the end", False)),
        (ProcessingTimeTrigger(), ("end", "always", False)),
        (CountTrigger.of(2), ("none", None, True)),
        (NeverTrigger(), ("none", None, False)),
        (PurgingTrigger.of(EventTimeTrigger()), ("end", "before the end", False)),
        (Named(), ("end", "before the end", False)),
        (Counted(), ("end", "before the end", False)),
        (Early(), ("any", None, True)),
        (PurgingTrigger.of(Early()), ("any", None, True)),
        (Reminding(), ("any", "before the end", True)),
        (Mixed(), ("any", None, True)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Trigger) else "",
)
def test_a_class_is_believed_unless_one_below_it_overrides(trigger: Trigger, expected: Any) -> None:
    assert (timers_of(trigger), rest_of(trigger), trigger_has_state(trigger)) == expected


def test_so_is_that_of_an_assigner() -> None:
    assert knows_ends(TumblingEventTimeWindows.of(5))
    assert not knows_ends(Longer.of(5))
    assert not assigner_has_state(TumblingEventTimeWindows.of(5))
    assert assigner_has_state(Longer.of(5))
    assert merges_spans(EventTimeSessionWindows.with_gap(5))
    assert not merges_spans(Apart(5))
