"""The time to live of a map's entries: asking whether there is one reads it, as in Flink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from snapline import KeyedProcessFunction, MapStateDescriptor, StateTtlConfig, StateVisibility, UpdateType
from snapline.testing import KeyedTestHarness

TEN_SECONDS = timedelta(seconds=10)
SINCE_READ = StateTtlConfig(TEN_SECONDS, update_type=UpdateType.ON_READ_AND_WRITE)
SHOWN = StateTtlConfig(TEN_SECONDS, visibility=StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP)


class Distinct(KeyedProcessFunction):
    """Puts out ids that it has not seen."""

    def __init__(self, ttl: StateTtlConfig) -> None:
        self._ttl = ttl

    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_map_state(MapStateDescriptor("seen", "long", "boolean", ttl=self._ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        if row.id in self.seen:
            return
        self.seen[row.id] = True
        yield (row.id,)


def test_an_id_that_comes_again_and_again_is_remembered() -> None:
    with KeyedTestHarness(Distinct(SINCE_READ), key="k", schema="k long, id long", output="id long") as harness:
        assert harness.process_batch([(1, 5)]) == [(5,)]
        for now in (8_000, 16_000):
            harness.advance_processing_time(now)
            assert harness.process_batch([(1, 5)]) == []
        harness.advance_processing_time(26_000)
        assert harness.process_batch([(1, 5)]) == [(5,)]


def by_key(entries: Any) -> Any:
    try:
        return entries[1]
    except KeyError:
        return False


READS: list[Callable[[Any], Any]] = [lambda m: m.contains(1), lambda m: 1 in m, lambda m: m.get(1, False), by_key]


class Twice(KeyedProcessFunction):
    """Reads an entry twice, after it was put in the first micro-batch."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def open(self, ctx: Any) -> None:
        self.map = ctx.get_map_state(MapStateDescriptor("map", "long", "boolean", ttl=SHOWN))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        if row.puts:
            self.map.put(1, True)
        yield self._read(self.map), self._read(self.map)


@pytest.mark.parametrize("read", READS, ids=["contains", "in", "get", "by key"])
def test_an_expired_entry_is_shown_once(read: Callable[[Any], Any]) -> None:
    output = "first boolean, second boolean"
    with KeyedTestHarness(Twice(read), key="k", schema="k long, puts boolean", output=output) as harness:
        assert harness.process_batch([(1, True)]) == [(True, True)]
        harness.set_times(processing=10_000)
        assert harness.process_batch([(1, False)]) == [(True, False)]
