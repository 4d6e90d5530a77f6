"""Times to live in event time, against a model: a late row brings an expiry forward, and clean-up must not miss it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from snapline import KeyedProcessFunction
from snapline.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    StateVisibility,
    TtlTime,
    ValueStateDescriptor,
)
from snapline.testing import Bounds, KeyedTestHarness

LIFE = 10
TTL = StateTtlConfig(
    timedelta(milliseconds=LIFE),
    time=TtlTime.EVENT_TIME,
    visibility=StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP,
)
KEYS = (1, 2)
#: A list or map without entries is not stored.
EMPTY: dict[str, Any] = {"value": None, "list": [], "later": [], "map": {}, "unread": {}}


class Keeps(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value", "long", ttl=TTL))
        self.list = ctx.get_list_state(ListStateDescriptor("list", "long", ttl=TTL))
        self.later = ctx.get_list_state(ListStateDescriptor("later", "long", ttl=TTL, prefetch=False))
        self.map = ctx.get_map_state(MapStateDescriptor("map", "long", "long", ttl=TTL))
        self.unread = ctx.get_map_state(MapStateDescriptor("unread", "long", "long", ttl=TTL, prefetch=False))

    def process_element(self, row: Any, ctx: Any) -> None:
        self.value.update(row.n + 1)
        self.list.add(row.n)
        self.later.add(row.n)
        self.map.put(row.n % 3, row.n)
        if row.n % 2:
            self.unread.get(row.n % 3)
        self.unread.put(row.n % 3, row.n)
        if row.n == 0:
            self.list.clear()
            self.map.clear()


class Model:
    """By key and state: what is there, with its expiry."""

    def __init__(self) -> None:
        self.stored: dict[int, dict[str, Any]] = {
            k: {"value": {}, "list": [], "later": [], "map": {}, "unread": {}} for k in KEYS
        }

    def row(self, key: int, n: int, expiry: int) -> None:
        mine = self.stored[key]
        mine["value"] = {None: (n + 1, expiry)}
        mine["list"].append((n, expiry))
        mine["later"].append((n, expiry))
        mine["map"][n % 3] = (n, expiry)
        mine["unread"][n % 3] = (n, expiry)
        if n == 0:
            mine["list"].clear()
            mine["map"].clear()

    def clean_up(self, watermark: int) -> None:
        for mine in self.stored.values():
            for name, all_of in mine.items():
                if isinstance(all_of, dict):
                    mine[name] = {k: pair for k, pair in all_of.items() if pair[1] > watermark}
                else:
                    mine[name] = [pair for pair in all_of if pair[1] > watermark]

    def of(self, name: str, key: int) -> Any:
        all_of = self.stored[key][name]
        if name == "value":
            return all_of[None][0] if all_of else None
        return {k: v for k, (v, _) in all_of.items()} if isinstance(all_of, dict) else [v for v, _ in all_of]


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, tz=timezone.utc).replace(tzinfo=None)


batches = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9), st.integers(0, 30)), max_size=4),
    ),
    min_size=2,
    max_size=8,
)


@settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(batches, st.integers(1, 4), st.integers(0, 3))
@example([(0, [(1, 1, 30)]), (1, [(1, 1, 0)]), (15, [])], 4, 3)
def test_what_has_expired_is_gone_after_its_batch(batches: Any, chunk_rows: int, max_prefetch: int) -> None:
    bounds = Bounds(chunk_rows=chunk_rows, max_keys=2, max_prefetch=max_prefetch, page_rows=2)
    schema = "k long, n long, t timestamp"
    model, watermark = Model(), 0
    with KeyedTestHarness(Keeps(), key="k", schema=schema, output="k long", event_time="t", bounds=bounds) as harness:
        for later, rows in batches:
            watermark += later
            harness.set_times(watermark=watermark, processing=0)
            # Not late by more than the watermark allows, and yet before others that came first.
            timed = [(k, n, watermark + t + 1) for k, n, t in rows]
            harness.process_batch([(k, n, at(t)) for k, n, t in timed])
            for k, n, t in timed:
                model.row(k, n, t + LIFE)
            model.clean_up(watermark)
            for name in ("value", "list", "later", "map", "unread"):
                for key in KEYS:
                    expected = model.of(name, key)
                    assert (harness.state(name, key) or EMPTY[name]) == expected, (name, key, watermark)
