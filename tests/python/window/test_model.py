"""Windows against a plain model of Flink's, with random assigners, triggers, rows and watermarks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from snapline.testing import Bounds, KeyedTestHarness
from snapline.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    ProcessWindowFunction,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
)

from .reference import Reference, cumulative, session, sliding, tumbling

EPOCH = datetime(1970, 1, 1)
MS = timedelta(milliseconds=1)
BOUNDS = (Bounds(), Bounds(chunk_rows=3, max_keys=2, max_prefetch=1))

ASSIGNERS = st.one_of(
    st.tuples(st.just("tumbling"), st.integers(1, 9), st.integers(0, 3)),
    st.tuples(st.just("sliding"), st.integers(2, 9), st.integers(1, 5)),
    st.tuples(st.just("cumulative"), st.integers(1, 4), st.integers(1, 3)),
    st.tuples(st.just("session"), st.integers(1, 6), st.just(0)),
)
TRIGGERS = st.one_of(
    st.tuples(st.none(), st.none()), st.tuples(st.integers(1, 4), st.none()), st.tuples(st.none(), st.integers(1, 5))
)
BATCHES = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), max_size=6), st.integers(0, 30)), max_size=8
)


class Rows(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, sorted(row.v for row in elements)


def made(kind: str, first: int, second: int) -> tuple[Any, Any]:
    """The assigner, and that of the model."""
    if kind == "tumbling":
        offset = second % first
        return TumblingEventTimeWindows.of(first, offset), tumbling(first, offset)
    if kind == "sliding":
        return SlidingEventTimeWindows.of(first, second), sliding(first, second, 0)
    if kind == "cumulative":
        size, step = first * second, second
        return CumulativeEventTimeWindows.of(size, step), cumulative(size, step, 0)
    return EventTimeSessionWindows.with_gap(first), session(first)


def trigger_of(count: int | None, interval: int | None, purges: bool) -> Trigger | None:
    trigger: Trigger | None = None
    if count is not None:
        trigger = CountTrigger.of(count)
    elif interval is not None:
        trigger = ContinuousEventTimeTrigger.of(interval)
    return PurgingTrigger.of(trigger) if purges and trigger is not None else trigger


@settings(max_examples=150, deadline=None)
@given(
    assigner=ASSIGNERS,
    trigger=TRIGGERS,
    purges=st.booleans(),
    lateness=st.integers(0, 8),
    batches=BATCHES,
    bounds=st.sampled_from(BOUNDS),
    restarts=st.booleans(),
)
def test_windows_fire_as_flinks_do(
    assigner: tuple[str, int, int],
    trigger: tuple[int | None, int | None],
    purges: bool,
    lateness: int,
    batches: list[tuple[list[tuple[int, int]], int]],
    bounds: Bounds,
    restarts: bool,
) -> None:
    windows, assign = made(*assigner)
    chosen = trigger_of(*trigger, purges)
    purges = purges and chosen is not None

    def built(stream: Any) -> Any:
        windowed = stream.window(windows).allowed_lateness(lateness).side_output_late_data("late")
        windowed = windowed if chosen is None else windowed.trigger(chosen)
        return windowed.process(Rows(), "k long, s long, e long, vs array<long>")

    def new() -> KeyedTestHarness:
        return KeyedTestHarness.of_stream(
            built, key="k", schema="k long, v long, t timestamp", event_time="t", bounds=bounds
        )

    harness = new()
    models = [Reference(assign, assigner[0] == "session", *trigger, purges, lateness) for _ in range(3)]
    late: list[int] = []
    value = 0
    for rows, watermark in batches:
        batch = []
        for key, time in rows:
            value += 1
            batch.append((key, value, EPOCH + time * MS))
            models[key].row(time, value)
        for model in models:
            model.advance(watermark)
        found = harness.process_batch(batch) + harness.advance_watermark(EPOCH + watermark * MS)
        fired = Counter((row.k, row.s, row.e, tuple(row.vs)) for row in found)
        wanted = Counter((k, s, e, vs) for k, model in enumerate(models) for (s, e), vs in model.fired)
        note(f"{rows} {watermark}")
        assert fired == wanted
        for model in models:
            late += model.late
            model.fired.clear()
            model.late.clear()
        if restarts:
            snapshot, sides = harness.snapshot(), harness.side_output("late")
            assert sorted(row.v for row in sides) == sorted(late)
            late.clear()
            harness.close()
            harness = new()
            harness.restore(snapshot)
    assert sorted(row.v for row in harness.side_output("late")) == sorted(late)
    harness.advance_watermark(EPOCH + timedelta(days=1))
    assert harness.num_timers() == 0
    assert all(harness.num_keys(name) == 0 for name in ("window-contents", "window-count"))
    harness.close()
