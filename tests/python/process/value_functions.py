"""Functions that give states, outputs and timers whatever a user would."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from snapline import (
    PICKLED,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

SIDE = OutputTag("side", "n long, all array<long>")


class Keys(KeyedProcessFunction):
    """Counts by time, by float and by double: what most people write."""

    def open(self, ctx: Any) -> None:
        self.ahead = ctx.get_map_state(MapStateDescriptor("ahead", "timestamp", "long"))
        self.later = ctx.get_map_state(MapStateDescriptor("later", "timestamp", "long", prefetch=False))
        self.spaces = ctx.get_state(ValueStateDescriptor("spaces", "long", namespace="timestamp"))
        self.floats = ctx.get_map_state(MapStateDescriptor("floats", "float", "long", prefetch=False))
        self.doubles = ctx.get_map_state(MapStateDescriptor("doubles", "double", "long"))
        self.named = ctx.get_map_state(MapStateDescriptor("named", "double", "long", entry="d"))
        self.structs = ctx.get_map_state(MapStateDescriptor("structs", "struct<t:timestamp,f:float>", "long"))
        add = ReducingStateDescriptor("sums", lambda a, b: a + b, "long", namespace="timestamp")
        self.sums = ctx.get_reducing_state(add)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        time = datetime.fromtimestamp(row.ms / 1000, tz=timezone.utc)
        found = [self.count(self.ahead, time), self.count(self.later, time)]
        self.spaces.set_current_namespace(time)
        self.spaces.update((self.spaces.value() or 0) + 1)
        found += [self.spaces.value(), self.count(self.floats, 0.1), self.count(self.doubles, row.d)]
        found += [self.count(self.named, row.d), self.count(self.structs, {"t": time, "f": 0.1})]
        # All sums move to the namespace of the row.
        self.sums.set_current_namespace(time)
        self.sums.add(1)
        other = time + timedelta(hours=1 if row.v % 2 == 0 else -1)
        self.sums.merge_namespaces(time, [time, other])
        yield row.v, f"{found} {self.sums.get()}"

    def count(self, state: Any, key: Any) -> int:
        state[key] = state.get(key, 0) + 1
        assert key in state
        return int(state[key])


class Reuse(KeyedProcessFunction):
    """One row, filled again and again."""

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        out = [row.n, [row.n]]
        ctx.output(SIDE, out)
        yield out
        out[0] = 99
        out[1][0] = 99


class Keep(KeyedProcessFunction):
    """Changes values in place after it gave them away, and after it got them."""

    def open(self, ctx: Any) -> None:
        self.pickled = ctx.get_state(ValueStateDescriptor("pickled", PICKLED))
        self.typed = ctx.get_state(ValueStateDescriptor("typed", "array<long>"))
        self.maps = ctx.get_list_state(ListStateDescriptor("maps", "map<string,array<long>>"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        for state in (self.pickled, self.typed):
            values = state.value() or []
            values.append(row.v)
            state.update(values)
            values.append(-1)
            state.value().append(-2)
        given = {"x": [row.v]}
        self.maps.update([given])
        given["x"].append(-1)
        next(iter(self.maps.get()))["x"].append(-2)
        yield (repr([self.pickled.value(), self.typed.value(), *self.maps.get()]),)


class Passing(KeyedProcessFunction):
    """The time of the row by every way that it can take."""

    def open(self, ctx: Any) -> None:
        self.last = ctx.get_state(ValueStateDescriptor("last", "timestamp"))
        self.seen = ctx.get_map_state(MapStateDescriptor("seen", "timestamp", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.last.update(row.t)
        self.seen[row.t] = self.seen.get(row.t, 0) + 1
        key = ctx.get_current_key()
        assert key == row.t
        yield row.u, row.t.fold, row.t, self.last.value(), key, dict(self.seen.items())


class Timed(KeyedProcessFunction):
    def __init__(self, time: Any = None) -> None:
        self.time = time

    def process_element(self, row: Any, ctx: Any) -> None:
        service = ctx.timer_service()
        service.register_processing_time_timer(row.t if self.time is None else self.time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        shown = ctx.timer_service().to_datetime(timestamp)
        second = datetime(2013, 11, 3, 6, 30, tzinfo=timezone.utc).timestamp() * 1000
        yield timestamp, shown.fold == (timestamp == second)


class Count(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield row.v, self.count.value()


class Wrong(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.per = ctx.get_map_state(MapStateDescriptor("per", "timestamp", "long"))

    def process_element(self, row: Any, ctx: Any) -> None:
        self.per[row.v] = 1


class Zoned(KeyedProcessFunction):
    """The first time of a key, as an instant and as what a clock showed."""

    def open(self, ctx: Any) -> None:
        self.typed = ctx.get_state(ValueStateDescriptor("typed", "timestamp"))
        self.pickled = ctx.get_state(ValueStateDescriptor("pickled", PICKLED))
        self.day = ctx.get_state(ValueStateDescriptor("day", "date"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        if row.v:
            shown = ctx.timer_service().to_datetime(row.v // 1000)
            self.typed.update(shown)
            self.pickled.update(shown)
            self.day.update(shown)
        yield self.typed.value(), str(self.typed.value()), str(self.pickled.value()), self.day.value()
