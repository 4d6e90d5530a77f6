"""What a worker sends is bounded in bytes, whatever single rows and values take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from snapline import KeyedProcessFunction, ListStateDescriptor, MapStateDescriptor, OutputTag, ValueStateDescriptor
from snapline.errors import SnaplineError, StateTooLarge
from snapline.testing import Bounds, KeyedTestHarness
from snapline.testing.links import InProcessLink
from snapline.worker import batch as batch_loop
from snapline.worker import pieces as bounds_of
from snapline.worker.frames import Frame, ToOperator

BOUND = 10_000
SIDE = OutputTag("side", "text string")


class Spy(InProcessLink):
    """Keeps the bytes of what the worker sends."""

    seen: list[tuple[int, int]] = []  # noqa: RUF012

    def receive(self) -> Frame:
        frame = super().receive()
        Spy.seen.append((frame.kind, sum(part.size for part in frame.parts.values())))
        return frame


class Does(KeyedProcessFunction):
    def __init__(self, process: Callable[[Any, Any, Any], Any]) -> None:
        self.process = process

    def open(self, ctx: Any) -> None:
        self.value = ctx.get_state(ValueStateDescriptor("value", "string"))
        self.list = ctx.get_list_state(ListStateDescriptor("list", "string"))
        self.map = ctx.get_map_state(MapStateDescriptor("map", "long", "string"))
        self.later = ctx.get_map_state(MapStateDescriptor("later", "long", "string", prefetch=False))

    def process_element(self, row: Any, ctx: Any) -> Any:
        return self.process(self, row, ctx)


def run(process: Callable[[Any, Any, Any], Any], rows: Any) -> KeyedTestHarness:
    Spy.seen = []
    harness = KeyedTestHarness(
        Does(process),
        key="k",
        schema="k long, n long",
        output="k long, text string",
        side_outputs=[SIDE],
        link=Spy,
        bounds=Bounds(chunk_bytes=BOUND),
    )
    harness.process_batch(rows)
    return harness


def sizes(kind: ToOperator) -> list[int]:
    return [size for seen, size in Spy.seen if seen == kind]


@pytest.mark.parametrize("lengths", [[900] * 500, [1] * 400 + [3_000] * 100 + [1] * 400])
def test_outputs(lengths: list[int]) -> None:
    def process(_: Any, row: Any, ctx: Any) -> Any:
        for length in lengths:
            ctx.output(SIDE, ("s" * length,))
            yield row.k, "x" * length

    harness = run(process, [(1, 1)])
    assert [len(row.text) for row in harness.output()] == lengths
    assert [len(row.text) for row in harness.side_output(SIDE)] == lengths
    found = sizes(ToOperator.OUTPUT)
    # The columns of the other output are null; a message has a head.
    assert max(found) < BOUND + 5_000
    assert len(found) < 2 * 4 * sum(lengths) / BOUND


def test_one_row_that_is_larger_travels_alone() -> None:
    harness = run(lambda _, row, ctx: [(1, "x"), (2, "x" * 5 * BOUND), (3, "x")], [(1, 1)])
    assert [row.k for row in harness.output()] == [1, 2, 3]
    assert sorted(size > BOUND for size in sizes(ToOperator.OUTPUT)) == [False, False, True]


def test_changes() -> None:
    def process(function: Any, row: Any, ctx: Any) -> None:
        function.value.update("v" * 700)
        function.list.add_all(["l" * 700] * 5)
        for i in range(5):
            function.map.put(i, "m" * 700)

    harness = run(process, [(k, 0) for k in range(100)])
    assert max(sizes(ToOperator.CHANGES)) < BOUND + 2_000
    for k in range(100):
        assert harness.state("value", k) == "v" * 700
        assert harness.state("list", k) == ["l" * 700] * 5
        assert harness.state("map", k) == dict.fromkeys(range(5), "m" * 700)
    # A list that is written anew stays whole when it travels in pieces.
    harness = run(lambda function, row, ctx: function.list.update([str(i) * 900 for i in range(60)]), [(1, 1)])
    assert harness.state("list", 1) == [str(i) * 900 for i in range(60)]


def test_entries_that_were_asked_for_come_in_as_many_answers_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    from snapline.testing.exchange import Exchange

    answer = Exchange.answer

    def half(self: Exchange, frame: Frame) -> Frame | None:
        """The answer of an operator for which three entries are too many."""
        if frame.meta["what"] != "entries":
            return answer(self, frame)
        (part,) = frame.parts
        asked = frame.batch(part, self._schemas)
        assert asked is not None
        first = Frame(frame.kind, frame.meta, {part: asked.slice(0, 2).serialize()})
        return answer(self, first)

    monkeypatch.setattr(Exchange, "answer", half)

    def process(function: Any, row: Any, ctx: Any) -> Any:
        if row.n == 0:
            for i in range(7):
                function.later.put(i, str(i))
            return []
        return [(1, repr((function.later._cache.find_all(0, [6, 9, 0, 3, 1]), function.later.get(3))))]

    harness = run(process, [(1, 0)])
    (row,) = harness.process_batch([(1, 1)])
    assert row.text == repr(([6, 0, 3, 1], "3"))


@pytest.mark.parametrize("what", ["column text", "state value", "state list", "side"])
def test_what_cannot_travel_at_all_is_named(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(bounds_of, "MOST_BYTES", 50_000)

    def process(function: Any, row: Any, ctx: Any) -> Any:
        large = "x" * 60_000
        if what == "column text":
            return [(1, large)]
        if what == "side":
            ctx.output(SIDE, (large,))
        elif what == "state value":
            function.value.update(large)
        else:
            function.list.add_all(["small", large])
        return None

    with pytest.raises(SnaplineError) as told:
        run(process, [(1, 1)])
    assert isinstance(told.value, StateTooLarge)
    assert what in told.value.found
    assert "50000" in told.value.found


def test_pieces_keep_all_rows_in_their_order() -> None:
    texts = ["x" * (i * 37 % 500) for i in range(3_000)]
    whole = pa.record_batch({"text": pa.array(texts)})
    found = list(bounds_of.pieces(whole, 4_000, "a row"))
    assert [text for piece in found for text in piece.column(0).to_pylist()] == texts
    assert all(piece.nbytes <= 4_000 for piece in found)


def test_rows_of_one_key_that_cannot_be_handed_over_at_once_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_loop, "MOST_WHOLE", 1_000)

    class Whole(KeyedProcessFunction):
        def process_batch(self, key: Any, rows: Any, ctx: Any) -> None: ...

    harness = KeyedTestHarness(Whole(), key="k", schema="k long, n long", output="k long")
    with pytest.raises(StateTooLarge, match="key 7 "):
        harness.process_batch([(7, n) for n in range(1_000)])
