"""What a task says of failures and outputs, and how it bounds what it holds."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from snapline import FunctionFailed, KeyedProcessFunction, ListStateDescriptor, OutputTag, ValueStateDescriptor
from snapline.errors import InvalidConfiguration
from snapline.testing import Bounds, KeyedTestHarness
from snapline.testing.links import InProcessLink
from snapline.worker.frames import Frame, ToOperator

from .socket_link import SocketLink

TAG = OutputTag("odd", "n long")


class Plain(KeyedProcessFunction):
    """What a test says, for each row and timer."""

    def __init__(self, process: Callable[[Any, Any], Any], fire: Callable[[int, Any], Any] | None = None) -> None:
        self.process = process
        self.fire = fire

    def process_element(self, row: Any, ctx: Any) -> Any:
        return self.process(row, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.fire(timestamp, ctx) if self.fire else None


def run(function: KeyedProcessFunction, rows: Any = ((1, 2),), **more: Any) -> KeyedTestHarness:
    harness = KeyedTestHarness(
        function, key="k", schema="k long, n long", output="k long, n long", side_outputs=[TAG], **more
    )
    harness.process_batch(rows)
    return harness


@pytest.mark.parametrize("link", [InProcessLink, SocketLink])
def test_what_the_function_raises_comes_with_its_traceback_key_and_row(link: Any) -> None:
    def fails(row: Any, ctx: Any) -> Any:
        return row.n / (row.n - 2)

    with pytest.raises(FunctionFailed) as told:
        run(Plain(fails), link=link)
    assert "ZeroDivisionError: division by zero at key 1, row Row(k=1, n=2)" in told.value.found
    text = "".join(traceback.format_exception(told.value))
    assert "return row.n / (row.n - 2)" in text


def test_a_timer_that_fails_is_told_with_its_key_and_time() -> None:
    def registers(row: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(0)

    def fails(timestamp: int, ctx: Any) -> Any:
        raise ValueError("late")

    with pytest.raises(FunctionFailed, match="on_timer of Plain raised ValueError: late at key 1, timer 0"):
        run(Plain(registers, fails))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([(1,)], r"1 values where 2 belong \(k, n\): \(1,\)"),
        ((1, 2), "1, a int, is no row"),
        ("ab", "'a', a str, is no row"),
        ([(1, 2.5)], "column n is of type int64, and was given 2.5, a float"),
        ([{"k": 1, "m": 2}], "there is no column m"),
        (5, "'int' object is not iterable"),
    ],
)
def test_a_wrong_row_is_told(result: Any, message: str) -> None:
    with pytest.raises(FunctionFailed, match=message):
        run(Plain(lambda row, ctx: result))


def test_rows_may_be_tuples_lists_dicts_and_rows() -> None:
    harness = run(Plain(lambda row, ctx: [(1, None), [2, 3], {"n": 4}, row]))
    assert harness.output() == [(1, None), (2, 3), (None, 4), (1, 2)]


def test_a_side_output_has_to_be_declared() -> None:
    harness = run(Plain(lambda row, ctx: ctx.output(TAG, (row.n,))))
    assert (harness.side_output(TAG), harness.output()) == ([(2,)], [])
    with pytest.raises(FunctionFailed, match="side output other, which the query does not have"):
        run(Plain(lambda row, ctx: ctx.output(OutputTag("other", "n long"), (1,))))
    with pytest.raises(FunctionFailed, match="side output odd is of type struct"):
        run(Plain(lambda row, ctx: ctx.output(TAG, 5)))


def test_a_state_is_asked_for_in_open() -> None:
    class Late(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.ctx = ctx

        def process_element(self, row: Any, ctx: Any) -> Any:
            self.ctx.get_state(ValueStateDescriptor("v", "long"))

    with pytest.raises(InvalidConfiguration, match=r"state v is asked for after open\(\)"):
        run(Late())


def test_open_asks_for_the_same_everywhere() -> None:
    class Changing(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            name = type(ctx).__name__
            ctx.get_state(ValueStateDescriptor(name, "long"))

        def process_element(self, row: Any, ctx: Any) -> Any:
            return None

    with pytest.raises(InvalidConfiguration, match="in a task, and did not on the driver"):
        run(Changing())


def test_the_function_is_closed_once_also_when_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(Plain, "close", lambda self: closed.append("closed"), raising=False)
    run(Plain(lambda row, ctx: None))
    assert len(closed) == 2  # the driver's copy, the task's
    with pytest.raises(FunctionFailed):
        run(Plain(lambda row, ctx: 1 / 0))
    assert len(closed) == 4


class Spy(InProcessLink):
    """Keeps what the worker sent."""

    seen: list[Frame]

    def receive(self) -> Frame:
        frame = super().receive()
        type(self).seen.append(frame)
        return frame


def test_a_call_that_yields_much_is_sent_in_pieces() -> None:
    Spy.seen = []
    harness = run(Plain(lambda row, ctx: ((row.k, i) for i in range(25_000))), link=Spy)
    assert len(harness.output()) == 25_000
    assert [frame.kind for frame in Spy.seen].count(ToOperator.OUTPUT) == 3


def test_what_the_function_adds_is_said_to_be_held() -> None:
    class Grows(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.list = ctx.get_list_state(ListStateDescriptor("l", "string"))
            self.value = ctx.get_state(ValueStateDescriptor("v", "string"))

        def process_element(self, row: Any, ctx: Any) -> Any:
            self.list.add_all(["x" * 1000] * 100)
            self.value.update("y" * 500)

    Spy.seen = []
    rows = [(k, 0) for k in range(10)]
    run(Grows(), rows, link=Spy, bounds=Bounds(chunk_rows=5, max_bytes=1 << 30))
    held = [frame.meta["held"] for frame in Spy.seen if frame.kind == ToOperator.DONE]
    assert 500_000 < held[0] < 1_000_000
    assert 1_000_000 < held[1] < 2_000_000
    Spy.seen = []
    run(Grows(), rows, link=Spy, bounds=Bounds(chunk_rows=1, max_bytes=300_000, in_flight=1))
    assert [frame.kind for frame in Spy.seen].count(ToOperator.EPOCH_DONE) == 3


def test_updates_of_the_same_entry_are_held_once() -> None:
    class Counts(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.value = ctx.get_state(ValueStateDescriptor("v", "long"))

        def process_element(self, row: Any, ctx: Any) -> Any:
            self.value.update(row.n)

    Spy.seen = []
    run(Counts(), [(1, n) for n in range(1000)], link=Spy)
    (held,) = [frame.meta["held"] for frame in Spy.seen if frame.kind == ToOperator.DONE]
    assert held < 1000
