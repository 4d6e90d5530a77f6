from __future__ import annotations

from snapline.functions.context import EVENT, PROCESSING
from snapline.state.ddl import parse_schema
from snapline.testing.schemas import exchange_schemas
from snapline.worker.frames import TIMER_CHANGES_PART
from snapline.worker.timers import Timer, Timers

ROWS = parse_schema("k string", "rows")
SCHEMA = exchange_schemas(ROWS, ["k"], ROWS, [], mode="element", zone="UTC")[TIMER_CHANGES_PART]


def changes(timers: Timers) -> list[tuple[int, ...]]:
    batch = timers.changes(SCHEMA)
    return [] if batch is None else [tuple(row.values()) for row in batch.to_pylist()]


def test_the_last_change_of_a_timer_is_what_the_store_hears() -> None:
    timers = Timers()
    timers.register(0, 10, EVENT)
    timers.register(0, 10, EVENT)
    timers.register(1, 10, PROCESSING)
    timers.delete(0, 10, EVENT)
    assert changes(timers) == [(0, 10, EVENT, 1), (1, 10, PROCESSING, 0)]
    timers.reset()
    assert changes(timers) == []


def test_what_is_registered_within_a_round_fires_in_its_order_and_never_travels() -> None:
    timers = Timers()
    fired: list[Timer] = []
    for timer in timers.fire([(10, EVENT, 0), (20, EVENT, 0), (30, EVENT, 1)], 30, (100, 100)):
        fired.append(timer)
        if timer[0] == 10:
            timers.register(0, 15, EVENT)
            timers.register(0, 5, EVENT)
            timers.register(0, 20, EVENT)
            timers.delete(1, 30, EVENT)
            timers.register(0, 31, EVENT)
            timers.register(0, 15, PROCESSING)
    assert fired == [(10, EVENT, 0), (5, EVENT, 0), (15, EVENT, 0), (20, EVENT, 0)]
    assert changes(timers) == [(0, 31, EVENT, 0), (0, 15, PROCESSING, 0)]


def test_a_round_that_was_cut_leaves_timers_of_its_last_time_in_the_store() -> None:
    timers = Timers()
    fired: list[Timer] = []
    for timer in timers.fire([(10, EVENT, 0), (20, EVENT, 0), (20, EVENT, 1)], 19, (100, 100)):
        fired.append(timer)
        if timer[0] == 10:
            timers.register(0, 20, EVENT)  # is in the round
            timers.delete(1, 20, EVENT)  # is in the round
            timers.register(2, 20, EVENT)  # may be in the store
            timers.delete(3, 20, EVENT)
    assert fired == [(10, EVENT, 0), (20, EVENT, 0)]
    assert changes(timers) == [(2, 20, EVENT, 0), (3, 20, EVENT, 1)]


def test_what_is_not_due_waits() -> None:
    timers = Timers()
    for timer in timers.fire([(10, PROCESSING, 0)], 10, (100, 8)):
        timers.register(timer[2], 9, PROCESSING)
    assert changes(timers) == [(0, 9, PROCESSING, 0)]
