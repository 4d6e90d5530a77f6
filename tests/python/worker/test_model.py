"""Caches, handles, epochs and timers against plain dicts, in all orders that tiny bounds give."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapline.state.descriptors import ListStateDescriptor, MapStateDescriptor
from snapline.testing import Bounds, KeyedTestHarness
from snapline.testing.links import InProcessLink

from .model import ModelList, ModelMap, ModelTimers, ModelValue, Place, Ttl
from .script import DESCRIPTORS, OPS, STEPS, Script, fired, perform
from .socket_link import SocketLink

KEYS = ["a", "b", "c"]
SCHEMA = "k string, e long, n long, name string, op string, t timestamp"


def readers(name: str) -> st.SearchStrategy[tuple[str, str]]:
    """An operation of several steps, with readers that are not read at once."""
    steps = st.lists(st.sampled_from(STEPS[name[:3]]), max_size=8)
    return steps.map(lambda each: (name, " ".join(["begin", *each])))


@st.composite
def batches(draw: Any, name: str) -> list[Any]:
    """Micro-batches: rows, and how far watermark and time go on before them. Few states each, so that they meet."""
    focus = [name, *draw(st.lists(st.sampled_from([*DESCRIPTORS, "timers"]), max_size=1))]
    ops = st.sampled_from([each for each in OPS if each[0] in focus])
    read = [each for each in focus if each[:3] in STEPS]
    if read:
        ops |= st.sampled_from(read).flatmap(readers)
    rows = st.tuples(st.sampled_from(KEYS), st.integers(0, 1), st.integers(0, 20), ops)
    batch = st.tuples(st.lists(rows, max_size=20), st.integers(0, 12), st.integers(0, 12))
    return draw(st.lists(batch, min_size=1, max_size=5))  # type: ignore[no-any-return]


bounds = st.builds(
    Bounds,
    chunk_rows=st.integers(1, 5),
    max_keys=st.integers(1, 3),
    max_bytes=st.sampled_from([1, 1_500, 1 << 20, 1 << 20]),
    max_prefetch=st.integers(0, 3),
    page_rows=st.integers(1, 3),
    in_flight=st.integers(1, 3),
)


class Model:
    """The states and timers of all keys, and what the function would put out by key."""

    def __init__(self) -> None:
        self.place = Place()
        self.states = SimpleNamespace(**{name: self._state(each) for name, each in DESCRIPTORS.items()})
        self.timers = ModelTimers(self.place)

    def _state(self, descriptor: Any) -> Any:
        kinds: dict[Any, Any] = {ListStateDescriptor: ModelList, MapStateDescriptor: ModelMap}
        return kinds.get(type(descriptor), ModelValue)(Ttl(self.place, descriptor.ttl))

    def run(self, batch: list[Any], watermark: int, now: int) -> dict[str, list[str]]:
        self.place.now = now
        output = defaultdict(list)
        for key, e, n, (name, op) in batch:
            self.place.key = key
            output[key].append(repr(perform(self.states, self.timers, name, op, e, n)))
        while any(self._fire(domain, due, output) for domain, due in ((0, watermark), (1, now))):
            pass
        for state in vars(self.states).values():
            state.clean_up()
        return dict(output)

    def _fire(self, domain: int, due: int, output: dict[str, list[str]]) -> bool:
        has_fired = False
        while (timer := self.timers.earliest(domain, due)) is not None:
            self.timers.registered[domain].discard(timer)
            time, self.place.key = timer
            seen = fired(self.states, self.timers, time)
            output[self.place.key].append(repr((("event", "processing")[domain], time, seen)))
            has_fired = True
        return has_fired


@pytest.mark.parametrize("name", [*DESCRIPTORS, "timers"])
@pytest.mark.parametrize(("link", "examples"), [(InProcessLink, 40), (SocketLink, 2)])
def test_worker_agrees_with_dicts(link: Any, examples: int, name: str) -> None:
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(batches(name), bounds)
    def check(batches: list[Any], bounds: Bounds) -> None:
        harness = KeyedTestHarness(
            Script(), key="k", schema=SCHEMA, output="k string, s string", event_time="t", bounds=bounds, link=link
        )
        model, watermark, now = Model(), 0, 0
        with harness:
            for batch, later, older in batches:
                watermark, now = watermark + later, now + older
                expected = model.run(batch, watermark, now)
                assert _run(harness, batch, watermark, now) == expected
            for name in DESCRIPTORS:
                for key in KEYS:
                    assert harness.state(name, key) == getattr(model.states, name).of(key), name
            for domain, of in (("event", 0), ("processing", 1)):
                assert harness.num_timers(domain) == len(model.timers.registered[of])  # type: ignore[arg-type]

    check()


def _run(harness: KeyedTestHarness, batch: list[Any], watermark: int, now: int) -> dict[str, list[str]]:
    """One micro-batch at these times."""
    harness.set_times(watermark=watermark, processing=now)
    output = defaultdict(list)
    # Rows without a time of their own are never late.
    for key, text in harness.process_batch([(k, e, n, name, op, None) for k, e, n, (name, op) in batch]):
        output[key].append(text)
    return dict(output)
