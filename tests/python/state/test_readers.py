"""Lists and maps that are read later than they are asked for: what was not sent ahead looks like what was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import chain, islice
from typing import Any

import pytest

from snapline import KeyedProcessFunction, ListStateDescriptor, MapStateDescriptor, StateTtlConfig
from snapline.functions.errors import FunctionFailed
from snapline.testing import Bounds, KeyedTestHarness

SCHEMA = "k string, v long"
OUTPUT = "k string, vs array<long>"
HOUR = StateTtlConfig(timedelta(hours=1))

everywhere = pytest.mark.parametrize(
    "bounds",
    [Bounds(), Bounds(max_prefetch=0), Bounds(max_prefetch=0, page_rows=1)],
    ids=["sent", "a page", "pages"],
)
of_each_kind = pytest.mark.parametrize(
    "more", [{}, {"ttl": HOUR}, {"namespace": "string"}], ids=["", "ttl", "namespaces"]
)


class Does(KeyedProcessFunction):
    """Values up to ten are kept; with one above them something is done, and what that shows is put out."""

    def __init__(self, act: Callable[[Any, int], Any], descriptor: Any) -> None:
        self._act, self._descriptor = act, descriptor
        self._is_map = isinstance(descriptor, MapStateDescriptor)

    def open(self, ctx: Any) -> None:
        self._state = (ctx.get_map_state if self._is_map else ctx.get_list_state)(self._descriptor)

    def process_element(self, row: Any, ctx: Any) -> Iterator[Any]:
        if self._descriptor.namespace is not None:
            self._state.set_current_namespace("n")
        if row.v > 10:
            yield row.k, list(self._act(self._state, row.v))
        elif self._is_map:
            self._state.put(row.v, row.v)
        else:
            self._state.add(row.v)


def harness_of(act: Callable[[Any, int], Any], descriptor: Any, bounds: Bounds) -> KeyedTestHarness:
    return KeyedTestHarness(Does(act, descriptor), key="k", schema=SCHEMA, output=OUTPUT, bounds=bounds)


def run(act: Callable[[Any, int], Any], descriptor: Any, bounds: Bounds, *values: int) -> tuple[list[Any], Any]:
    """The lists shown, and the state in the end, for values after 1 and 2 of the micro-batch before."""
    with harness_of(act, descriptor, bounds) as harness:
        harness.process_batch([("a", 1), ("a", 2)])
        shown = [each.vs for each in harness.process_batch([("a", value) for value in values])]
        stored = harness.state("s", "a")
        if descriptor.namespace is None or stored is None:
            return shown, stored
        if isinstance(descriptor, MapStateDescriptor):
            return shown, {each.key: value for each, value in stored.items()}
        return shown, stored["n"]


# ---- lists


def drained(s: Any, v: int) -> Any:
    s.add(v)
    old = s.get()
    s.clear()
    return old


def added(s: Any, v: int) -> Any:
    old = s.get()
    s.add(v)
    return old


def replaced(s: Any, v: int) -> Any:
    old = s.get()
    s.update([v])
    return old


def replaced_when_half_read(s: Any, v: int) -> Any:
    old = iter(s.get())
    first = next(old)
    s.update([v])
    return chain([first], old)


def begun_anew(s: Any, v: int) -> Any:
    old = s.get()
    s.clear()
    s.add(v)
    return chain(old, s.get())


def neighbours(s: Any, v: int) -> Any:
    pairs = list(zip(s.get(), islice(s.get(), 1, None), strict=False))
    s.add(v)
    return chain(*pairs, s.get())


def counted(s: Any, v: int) -> Any:
    old = s.get()
    count = len(list(s.get()))
    s.add(v)
    return chain([count], old)


def left(s: Any, v: int) -> Any:
    first = next(iter(s.get()))
    s.add(v)
    return chain([first], s.get())


def added_to_while_read(s: Any, v: int) -> Any:
    for each in s.get():
        s.add(v)
        yield each


@everywhere
@of_each_kind
@pytest.mark.parametrize(
    ("act", "shown", "stored"),
    [
        (drained, [1, 2, 11], None),
        (added, [1, 2], [1, 2, 11]),
        (replaced, [1, 2], [11]),
        (replaced_when_half_read, [1, 2], [11]),
        (begun_anew, [1, 2, 11], [11]),
        (neighbours, [1, 2, 1, 2, 11], [1, 2, 11]),
        (counted, [2, 1, 2], [1, 2, 11]),
        (left, [1, 1, 2, 11], [1, 2, 11]),
        (added_to_while_read, [1, 2], [1, 2, 11, 11]),
    ],
)
def test_a_list_is_shown_as_it_was_at_the_call(
    act: Callable[[Any, int], Any], shown: list[int], stored: Any, more: dict[str, Any], bounds: Bounds
) -> None:
    assert run(act, ListStateDescriptor("s", "long", **more), bounds, 11) == ([shown], stored)


@everywhere
@of_each_kind
def test_a_buffer_that_is_drained_stays_so(more: dict[str, Any], bounds: Bounds) -> None:
    shown, stored = run(drained, ListStateDescriptor("s", "long", **more), bounds, 3, 11, 12, 4)
    assert (shown, stored) == ([[1, 2, 3, 11], [12]], [4])


# ---- maps


def cleared_map(s: Any, v: int) -> Any:
    items = s.items()
    s.clear()
    s.put(v, v)
    return chain(*items, [s.get(1, 0)], s.keys())


def removed_from(s: Any, v: int) -> Any:
    keys = s.keys()
    s.remove(1)
    return chain(keys, [s.get(1, 0)])


def put_into(s: Any, v: int) -> Any:
    values = s.values()
    s.put(1, v)
    s.put(v, v)
    return sorted(values)


def put_again(s: Any, v: int) -> Any:
    s.remove(1)
    keys = s.keys()
    s.put(1, v)
    return keys


def two_at_once(s: Any, v: int) -> Any:
    s.put(v, v)
    pairs = zip(s.keys(), s.keys(), strict=True)
    return sorted(chain(*pairs))


@everywhere
@of_each_kind
@pytest.mark.parametrize(
    ("act", "shown", "stored"),
    [
        (cleared_map, [0, 11], {11: 11}),
        (removed_from, [2, 0], {2: 2}),
        (put_into, [2, 11], {1: 11, 2: 2, 11: 11}),
        (put_again, [2], {1: 11, 2: 2}),
        (two_at_once, [1, 1, 2, 2, 11, 11], {1: 1, 2: 2, 11: 11}),
    ],
)
def test_a_reader_of_a_map_undoes_nothing(
    act: Callable[[Any, int], Any], shown: list[int], stored: Any, more: dict[str, Any], bounds: Bounds
) -> None:
    assert run(act, MapStateDescriptor("s", "long", "long", **more), bounds, 11) == ([shown], stored)


# ---- the end of an epoch


class Keeps:
    """Goes on, at a later call, with the reader that the first one has begun."""

    def __init__(self, taken: int) -> None:
        self._taken = taken
        self._reader: Iterator[Any] | None = None

    def __call__(self, s: Any, v: int) -> Any:
        if self._reader is not None:
            return self._reader
        self._reader = iter(s.keys() if hasattr(s, "keys") else s.get())
        return list(islice(self._reader, self._taken))


@pytest.mark.parametrize("taken", [0, 1])
@pytest.mark.parametrize("ttl", [None, HOUR], ids=["", "ttl"])
@pytest.mark.parametrize(
    "descriptor_of",
    [
        lambda ttl: ListStateDescriptor("s", "long", ttl=ttl),
        lambda ttl: MapStateDescriptor("s", "long", "long", ttl=ttl),
    ],
    ids=["list", "map"],
)
def test_a_reader_that_was_kept_shows_nothing_of_another_key(
    descriptor_of: Callable[[Any], Any], ttl: StateTtlConfig | None, taken: int
) -> None:
    bounds = Bounds(chunk_rows=1, max_keys=1, max_prefetch=0, page_rows=1)
    with harness_of(Keeps(taken), descriptor_of(ttl), bounds) as harness:
        harness.process_batch([("a", 1), ("a", 2), ("b", 3)])
        with pytest.raises(FunctionFailed, match="went on after its micro-batch or part of one"):
            harness.process_batch([("a", 11), ("b", 11)])
