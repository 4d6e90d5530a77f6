"""A function whose rows say what to do with its states; the model does the same with its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from snapline.functions import Context, KeyedProcessFunction, RuntimeContext
from snapline.state import (
    PICKLED,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    StateVisibility,
    UpdateType,
    ValueStateDescriptor,
)

ON_WRITE = StateTtlConfig(timedelta(milliseconds=10))
ON_READ = StateTtlConfig(timedelta(milliseconds=10), update_type=UpdateType.ON_READ_AND_WRITE)
SHOWN = StateTtlConfig(timedelta(milliseconds=10), visibility=StateVisibility.RETURN_EXPIRED_IF_NOT_CLEANED_UP)

DESCRIPTORS: dict[str, StateDescriptor] = {
    each.name: each
    for each in (
        ValueStateDescriptor("value", "long"),
        ValueStateDescriptor("pickled", PICKLED),
        ReducingStateDescriptor("reducing", lambda a, b: a + b, "long"),
        ListStateDescriptor("list", "long"),
        ListStateDescriptor("list_later", "long", prefetch=False),
        MapStateDescriptor("map", "long", "long"),
        MapStateDescriptor("map_named", "long", "long", entry="e"),
        MapStateDescriptor("map_later", "long", "long", prefetch=False),
        ValueStateDescriptor("value_ttl", "long", ttl=ON_WRITE),
        ValueStateDescriptor("value_read", "long", ttl=ON_READ),
        ValueStateDescriptor("value_shown", "long", ttl=SHOWN),
        ReducingStateDescriptor("reducing_ttl", lambda a, b: a + b, "long", ttl=ON_WRITE),
        ListStateDescriptor("list_ttl", "long", ttl=ON_WRITE),
        ListStateDescriptor("list_read", "long", ttl=ON_READ),
        ListStateDescriptor("list_shown_later", "long", ttl=SHOWN, prefetch=False),
        MapStateDescriptor("map_ttl", "long", "long", ttl=ON_WRITE),
        MapStateDescriptor("map_read_named", "long", "long", ttl=ON_READ, entry="e"),
        MapStateDescriptor("map_shown_later", "long", "long", ttl=SHOWN, prefetch=False),
    )
}

VALUE_OPS = ("value", "update", "clear")
REDUCING_OPS = ("get", "add", "clear")
LIST_OPS = ("get", "add", "add_all", "update_list", "clear")
MAP_OPS = ("get_entry", "put", "put_none", "remove", "contains", "items", "clear")
READER_OPS = ("begin", "next", "next_newest", "rest", "rest_newest", "leave")
TIMER_OPS = ("event", "processing", "delete_event", "delete_processing")

OPS = [
    (name, op)
    for name in DESCRIPTORS
    for op in {"val": VALUE_OPS, "pic": VALUE_OPS, "red": REDUCING_OPS, "lis": LIST_OPS, "map": MAP_OPS}[name[:3]]
] + [("timers", op) for op in TIMER_OPS]


#: What a row may do between the steps of its readers, by the kind of the state.
STEPS = {"lis": (*READER_OPS, *LIST_OPS), "map": (*READER_OPS, *MAP_OPS)}


class Reader:
    """An iterator over a list or a map. The entries of a map come in no order, so that the first one may be any."""

    def __init__(self, state: Any, name: str) -> None:
        self._is_map = name.startswith("map")
        # Reading refreshes: another first entry would leave another state.
        self._is_whole = name == "map_read_named"
        self._left = iter(state.items() if self._is_map else state.get())
        self._has_begun = False

    def next(self) -> Any:
        if self._is_whole:
            return None
        self._has_begun = True
        found = next(self._left, None)
        return None if self._is_map else found

    def rest(self) -> Any:
        found = list(self._left)
        if not self._is_map:
            return found
        return None if self._has_begun else sorted(found, key=lambda item: item[0])


def read_between(states: Any, timers: Any, name: str, steps: list[str], e: int, n: int) -> list[Any]:
    """Readers that are begun, go on and are left, the oldest or the newest first, between other operations."""
    readers: list[Reader] = []
    seen: list[Any] = []
    for at, step in enumerate(steps):
        newest = -1 if step.endswith("_newest") else 0
        if step == "begin":
            readers.append(Reader(getattr(states, name), name))
        elif step not in READER_OPS:
            seen.append(perform(states, timers, name, step, e, n + at))
        elif readers and step == "leave":
            readers.pop()
        elif readers and step.startswith("next"):
            seen.append(readers[newest].next())
        elif readers:
            seen.append(readers.pop(newest).rest())
    return [*seen, *(reader.rest() for reader in readers)]


def perform(states: Any, timers: Any, name: str, op: str, e: int, n: int) -> Any:
    """One operation, or several that begin with a reader; what it gives, in a form that compares."""
    if op.startswith("begin"):
        return read_between(states, timers, name, op.split(), e, n)
    entry = (e + n) % 2  # not always the one that the row names
    state: Any = getattr(states, name, None)
    actions: dict[str, Callable[[], Any]] = {
        "value": lambda: state.value(),
        "update": lambda: state.update([n] if name == "pickled" else n),
        "clear": lambda: state.clear(),
        "get": lambda: state.get() if name.startswith("red") else list(state.get()),
        "add": lambda: state.add(n),
        "add_all": lambda: state.add_all([n, n + 1]),
        "update_list": lambda: state.update([n] * (n % 3)),
        "get_entry": lambda: state.get(entry, -1),
        "put": lambda: state.put(entry, n),
        "put_none": lambda: state.put(entry, None),
        "remove": lambda: state.remove(entry),
        "contains": lambda: state.contains(entry),
        "items": lambda: sorted(state.items(), key=lambda item: item[0]),
        "event": lambda: timers.register_event_time_timer(n),
        "processing": lambda: timers.register_processing_time_timer(n),
        "delete_event": lambda: timers.delete_event_time_timer(n),
        "delete_processing": lambda: timers.delete_processing_time_timer(n),
    }
    return actions[op]()


def fired(states: Any, timers: Any, time: int) -> list[Any]:
    """What a timer does: it reads, writes, and registers and deletes others, also for times that are past."""
    seen = [states.value.value(), list(states.list_later.get()), states.map_later.get(time % 3)]
    states.value.update(time)
    states.map_later.put(time % 3, time)
    if time % 3 == 0:
        timers.register_event_time_timer(time + 1)
        timers.delete_event_time_timer(time + 2)
    if time % 5 == 0:
        timers.register_processing_time_timer(time - 3)
        timers.delete_processing_time_timer(time + 1)
    return seen


class Script(KeyedProcessFunction):
    """Rows are key, entry, number, state and operation."""

    def open(self, ctx: RuntimeContext) -> None:
        get: dict[str, Any] = {
            "val": ctx.get_state,
            "pic": ctx.get_state,
            "red": ctx.get_reducing_state,
            "lis": ctx.get_list_state,
            "map": ctx.get_map_state,
        }
        self.states = SimpleNamespace(**{name: get[name[:3]](each) for name, each in DESCRIPTORS.items()})

    def process_element(self, row: Any, ctx: Context) -> Iterator[Any]:
        yield row.k, repr(perform(self.states, ctx.timer_service(), row.name, row.op, row.e, row.n))

    def on_timer(self, timestamp: int, ctx: Context) -> Iterator[Any]:
        yield (
            ctx.get_current_key(),
            repr((ctx.time_domain(), timestamp, fired(self.states, ctx.timer_service(), timestamp))),
        )
