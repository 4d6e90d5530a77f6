"""``map``, ``flat_map``, ``filter`` and functions of a column on keyed streams."""

from __future__ import annotations

from typing import Any

import pytest

from snapline import FilterFunction, FlatMapFunction, MapFunction, ValueStateDescriptor
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.testing import KeyedTestHarness
from snapline.testing.streams import SchemaStream

ROWS = "k string, v long"
GIVEN = [("a", 3), ("b", None), ("a", 5), ("a", 1), ("b", 4)]


class Numbered(MapFunction):
    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", "long"))
        self.rows = ctx.get_metrics_group().counter("rows")

    def map(self, value: Any) -> Any:
        self.rows.inc()
        self.count.update((self.count.value() or 0) + 1)
        return value.k, self.count.value()


class Repeated(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        for _ in range(value.v or 0):
            yield (value.v,)


class New(FilterFunction):
    def open(self, ctx: Any) -> None:
        self.seen = ctx.get_state(ValueStateDescriptor("seen", "boolean"))

    def filter(self, value: Any) -> bool:
        is_new = self.seen.value() is None
        self.seen.update(True)
        return is_new


def harness(build: Any) -> KeyedTestHarness:
    return KeyedTestHarness.of_stream(build, key="k", schema=ROWS)


def test_a_rich_function_has_state_and_metrics() -> None:
    with harness(lambda stream: stream.map(Numbered(), "k string, n long")) as numbered:
        assert numbered.process(GIVEN, batch_size=2) == [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]
        assert numbered.metrics["rows"] == 5
    with harness(lambda stream: stream.filter(New())) as new:
        assert new.process(GIVEN, batch_size=2) == [("a", 3), ("b", None)]
    with harness(lambda stream: stream.flat_map(Repeated(), "v long")) as repeated:
        assert repeated.process_batch(GIVEN[3:]) == [(1,), (4,), (4,), (4,), (4,)]


def test_plain_functions_do_as_well() -> None:
    with harness(lambda stream: stream.map(lambda row: (row.v,) if row.v else None, "v long")) as mapped:
        assert mapped.process_batch(GIVEN) == [(3,), (5,), (1,), (4,)]
    with harness(lambda stream: stream.filter(lambda row: row.v is None)) as kept:
        assert kept.process_batch(GIVEN) == [("b", None)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [("a", 3), ("b", None), ("a", 8), ("a", 9), ("b", 4)]),
        ("min", [("a", 3), ("b", None), ("a", 3), ("a", 1), ("b", 4)]),
        ("max", [("a", 3), ("b", None), ("a", 5), ("a", 5), ("b", 4)]),
        ("min_by", [("a", 3), ("b", None), ("a", 3), ("a", 1), ("b", 4)]),
        ("max_by", [("a", 3), ("b", None), ("a", 5), ("a", 5), ("b", 4)]),
    ],
)
def test_functions_of_a_column_go_on(name: str, expected: list[Any]) -> None:
    with harness(lambda stream: getattr(stream, name)("v")) as rolling:
        assert rolling.process(GIVEN, batch_size=2) == expected
    with harness(lambda stream: getattr(stream, name)("v", emit="per_batch")) as batched:
        assert sorted(batched.process_batch(GIVEN)) == sorted([expected[3], expected[4]])


class Async(MapFunction):
    async def map(self, value: Any) -> Any: ...


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda stream: stream.map(Repeated(), "v long"), "MapFunction"),
        (lambda stream: stream.map(Numbered, "v long"), "MapFunction"),
        (lambda stream: stream.flat_map(5, "v long"), "FlatMapFunction"),
        (lambda stream: stream.map(Async(), "v long"), "async"),
        (lambda stream: stream.sum("w"), "no column"),
    ],
)
def test_functions_that_cannot_be(build: Any, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        build(SchemaStream(parse_schema(ROWS, "rows"), ["k"], None))
