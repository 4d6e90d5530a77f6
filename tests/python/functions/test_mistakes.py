"""What people bring along from PyFlink, or forget: each is told with what to write here."""

from __future__ import annotations

import importlib.util
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from snapline import (
    CheckpointedFunction,
    FunctionFailed,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.errors import InvalidConfiguration
from snapline.functions import process
from snapline.functions.kind import FunctionKind
from snapline.functions.plan import FunctionPlan
from snapline.testing import KeyedTestHarness, ProcessTestHarness

ROWS = "k string, v long, at timestamp"
ODD = OutputTag("odd", "v long")


class Plain(KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        yield (row.v,)


class AsyncElement(ProcessFunction):
    async def process_element(self, row: Any, ctx: Any) -> Any:  # type: ignore[override]
        return [(row.v,)]


class AsyncRows(KeyedBroadcastProcessFunction):
    async def process_element(self, row: Any, ctx: Any) -> Any:
        yield (row.v,)

    def process_broadcast_element(self, row: Any, ctx: Any) -> Any:
        return None


class AsyncTimer(Plain):
    async def on_timer(self, timestamp: int, ctx: Any) -> Any:  # type: ignore[override]
        return None


class AsyncOpen(Plain):
    async def open(self, ctx: Any) -> None:  # type: ignore[override]
        return None


class AsyncBatch(ProcessFunction):
    async def process_batch(self, batch: Any, ctx: Any) -> Any:
        return batch


class AsyncArrow(KeyedProcessFunction):
    async def process_arrow(self, batch: Any, state: Any) -> Any:
        return batch


class AsyncRules(KeyedBroadcastProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        yield (row.v,)

    async def process_broadcast_element(self, row: Any, ctx: Any) -> Any:  # type: ignore[override]
        return None


class AsyncSnapshot(ProcessFunction, CheckpointedFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        yield (row.v,)

    def initialize_state(self, ctx: Any) -> None:
        return None

    async def snapshot_state(self, ctx: Any) -> None:  # type: ignore[override]
        return None


@pytest.mark.parametrize(
    ("function", "kind", "method"),
    [
        (AsyncElement(), FunctionKind.UNKEYED, "process_element"),
        (AsyncRows(), FunctionKind.KEYED_BROADCAST, "process_element"),
        (AsyncTimer(), FunctionKind.KEYED, "on_timer"),
        (AsyncOpen(), FunctionKind.KEYED, "open"),
        (AsyncArrow(), FunctionKind.KEYED, "process_arrow"),
        (AsyncBatch(), FunctionKind.UNKEYED, "process_batch"),
        (AsyncSnapshot(), FunctionKind.UNKEYED, "snapshot_state"),
        (AsyncRules(), FunctionKind.KEYED_BROADCAST, "process_broadcast_element"),
    ],
)
def test_async_methods_are_refused_when_the_query_is_planned(function: Any, kind: FunctionKind, method: str) -> None:
    with pytest.raises(InvalidConfiguration) as refusal:
        FunctionPlan.of(function, kind)
    assert refusal.value.found == f"{type(function).__name__}.{method} is an async function."
    assert f"write `def {method}`" in refusal.value.action


class OfFrames(KeyedProcessFunction):
    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
        return batch


class OfPandas(OfFrames):
    batch_type = "pandas"


class OfPolars(OfFrames):
    batch_type = "polars"


class PlainOfPandas(Plain):
    batch_type = "pandas"


@pytest.mark.parametrize(("function", "library"), [(OfPandas(), "pandas"), (OfPolars(), "polars")])
def test_a_library_that_is_not_there_is_told_when_the_query_is_planned(
    function: Any, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "find_spec", lambda name: None if name == library else importlib.util.find_spec(name))
    with pytest.raises(InvalidConfiguration, match=f"wants batches of {library}") as refusal:
        FunctionPlan.of(function)
    assert f'pip install "snapline[{library}]"' in refusal.value.action
    # Nobody needs it who is given no batches.
    assert FunctionPlan.of(OfFrames()).batch_type == "arrow"
    assert FunctionPlan.of(PlainOfPandas()).mode == "element"


def test_the_extras_that_the_error_names_are_there() -> None:
    from importlib.metadata import metadata, requires

    assert {"pandas", "polars"} <= set(metadata("snapline").get_all("Provides-Extra") or [])
    asked = {line.split(">")[0] for line in requires("snapline") or [] if "extra ==" in line}
    assert {"pandas", "polars"} <= asked


@pytest.mark.parametrize(
    "descriptor",
    [
        ValueStateDescriptor("s", "long"),
        ListStateDescriptor("s", "long"),
        MapStateDescriptor("s", "long", "long"),
        ReducingStateDescriptor("s", max, "long"),
    ],
)
def test_a_descriptor_takes_its_time_to_live_when_it_is_made(descriptor: Any) -> None:
    with pytest.raises(InvalidConfiguration, match=r"ttl=StateTtlConfig\(timedelta"):
        descriptor.enable_time_to_live(StateTtlConfig(timedelta(days=1)))
    with pytest.raises(AttributeError, match="has no attribute 'nmae'"):
        descriptor.nmae  # noqa: B018


class Tagged(KeyedProcessFunction):
    """As PyFlink has it."""

    def process_element(self, row: Any, ctx: Any) -> Any:
        yield row.k, row.v
        yield ODD, (row.v,)


class TaggedStructs(KeyedProcessFunction):
    """The same where rows of the main output hold structs, so that a row is looked at when it is yielded."""

    def process_element(self, row: Any, ctx: Any) -> Any:
        yield row.k, (row.v,)
        yield ODD, (row.v,)


@pytest.mark.parametrize(
    ("function", "output", "row"),
    [(Tagged(), "k string, v long", ("a", 1)), (TaggedStructs(), "k string, v struct<v: long>", ("a", (1,)))],
)
def test_a_row_with_a_tag_goes_to_its_side_output(function: Any, output: str, row: Any) -> None:
    with KeyedTestHarness(function, key="k", schema=ROWS, output=output, side_outputs=[ODD]) as harness:
        assert harness.process_batch([("a", 1, None), ("a", 2, None)])[0] == row
        assert len(harness.output()) == 2
        assert [each[0] for each in harness.side_output(ODD)] == [1, 2]


class OnlyTagged(KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        value = [row.v]
        yield ODD, value
        value.append(5)


def test_a_row_with_a_tag_is_taken_as_it_is_then() -> None:
    with KeyedTestHarness(OnlyTagged(), key="k", schema=ROWS, output="x long", side_outputs=[ODD]) as harness:
        assert harness.process_batch([("a", 1, None)]) == []
        assert harness.side_output(ODD) == [(1,)]


@pytest.mark.parametrize("output", ["k string, v long", "k string, v struct<v: long>", "x long"])
def test_a_tag_that_the_query_lacks_is_told(output: str) -> None:
    function = TaggedStructs() if "struct" in output else Tagged()
    with (
        KeyedTestHarness(function, key="k", schema=ROWS, output=output) as harness,
        pytest.raises(FunctionFailed, match=r"begins with the tag of side output odd.*side_outputs=\[tag\]"),
    ):
        harness.process_batch([("a", 1, None)])


def test_a_row_that_is_wrong_for_another_reason_says_that() -> None:
    with (
        KeyedTestHarness(Tagged(), key="k", schema=ROWS, output="k string, v long, w long") as harness,
        pytest.raises(FunctionFailed, match="begins with the tag"),
    ):
        harness.process_batch([("a", 1, None)])
    with (
        KeyedTestHarness(Plain(), key="k", schema=ROWS, output="k string, v long") as harness,
        pytest.raises(FunctionFailed, match="1 values where 2 belong"),
    ):
        harness.process_batch([("a", 1, None)])


class EventTimer(KeyedProcessFunction):
    def process_element(self, row: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield (timestamp,)


class ArrowEventTimer(KeyedProcessFunction):
    def process_arrow(self, batch: Any, state: Any) -> Any:
        state.register_event_time_timers(pa.array([1000] * len(state.keys)))

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield (timestamp,)


class ChainedTimer(EventTimer):
    """From a timer of the other kind."""

    def process_element(self, row: Any, ctx: Any) -> Any:
        ctx.timer_service().delete_event_time_timer(1000)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time())

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if ctx.time_domain() == "processing":
            ctx.timer_service().register_event_time_timer(1000)
        else:
            yield (timestamp,)


EVENT_TIMERS = [EventTimer(), ArrowEventTimer(), ChainedTimer()]


@pytest.mark.parametrize("function", EVENT_TIMERS)
def test_an_event_time_timer_without_event_time_is_refused_at_the_call(function: Any) -> None:
    with (
        KeyedTestHarness(function, key="k", schema=ROWS, output="t long") as harness,
        pytest.raises(InvalidConfiguration, match=r"would never fire.*withWatermark"),
    ):
        harness.process_batch([("a", 1, None)])


@pytest.mark.parametrize("function", EVENT_TIMERS)
def test_with_event_time_or_of_a_bounded_table_it_fires(function: Any) -> None:
    with KeyedTestHarness(function, key="k", schema=ROWS, output="t long", event_time="at") as harness:
        assert harness.process_batch([("a", 1, None)]) == []
        assert harness.advance_watermark(1000) == [(1000,)]
    with KeyedTestHarness(function, key="k", schema=ROWS, output="t long") as harness:
        # As in Flink, a timer that a callback sets at the end is dropped.
        fired = [] if isinstance(function, ChainedTimer) else [(1000,)]
        assert harness.process_bounded([("a", 1, None)]) == fired


def test_without_a_key_that_comes_first() -> None:
    class Keyless(ProcessFunction):
        def process_element(self, row: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(1000)

    harness = ProcessTestHarness(Keyless(), schema=ROWS, output="t long")
    with pytest.raises(InvalidConfiguration, match="a timer in a stream without a key"):
        harness.process_batch([("a", 1, None)])
