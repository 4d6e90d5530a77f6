"""The types of states, as mypy --strict sees them in programs of users."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Lines that end with `# error: TEXT` are those that mypy is to refuse, with that text; it is to refuse no others.
PROGRAM = """
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from operator import add

from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType

import snapline
from snapline import (
    PICKLED,
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Stats:
    total = 0


class Mean(snapline.AggregateFunction[int, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]


class Longest(snapline.ReduceFunction[list[int]]):
    def reduce(self, value1: list[int], value2: list[int]) -> list[int]:
        return max(value1, value2, key=len)


def plus(a: int, b: int) -> int:
    return a + b


class Typed(snapline.KeyedProcessFunction):
    def open(self, ctx: snapline.RuntimeContext) -> None:
        ttl = StateTtlConfig(timedelta(days=1))
        self.count = ctx.get_state(ValueStateDescriptor("count", "long", ttl=ttl))
        self.mean = ctx.get_state(ValueStateDescriptor("mean", DoubleType()))
        self.seen = ctx.get_state(ValueStateDescriptor("seen", "timestamp", namespace="string"))
        self.day = ctx.get_state(ValueStateDescriptor("day", "date"))
        self.open_ = ctx.get_state(ValueStateDescriptor("open", "boolean"))
        self.raw = ctx.get_state(ValueStateDescriptor("raw", "binary"))
        self.names = ctx.get_list_state(ListStateDescriptor("names", StringType(), prefetch=False))
        self.by_name = ctx.get_map_state(MapStateDescriptor("by_name", "string", LongType(), entry="name"))
        self.by_id = ctx.get_map_state(MapStateDescriptor("by_id", "int", "struct<a: int>"))
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", plus, "long"))
        self.longest = ctx.get_reducing_state(ReducingStateDescriptor("longest", Longest(), "array<int>"))
        self.average = ctx.get_aggregating_state(AggregatingStateDescriptor("average", Mean(), "s long, n long"))
        # Of these nothing is known, unless it is said.
        self.struct = ctx.get_state(ValueStateDescriptor("struct", "a int, b string"))
        self.any_list = ctx.get_list_state(ListStateDescriptor("any_list", ArrayType(LongType())))
        self.pickled = ctx.get_state(ValueStateDescriptor("pickled", PICKLED))
        self.sum = ctx.get_reducing_state(ReducingStateDescriptor("sum", add, "long"))
        self.last = ctx.get_reducing_state(ReducingStateDescriptor("last", lambda a, b: (a.x, b.y), "x int, y int"))
        self.stats = ctx.get_state(ValueStateDescriptor[Stats]("stats", PICKLED))

    def process_element(self, row: snapline.Row, ctx: snapline.Context) -> Iterator[tuple[object, ...]]:
        self.count.update((self.count.value() or 0) + 1)
        self.mean.update(1)
        self.seen.update(datetime.now())
        self.day.update(date.today())
        self.open_.update(not self.open_.value())
        self.raw.update(b"x")
        self.names.add_all(["a", "b"])
        self.by_name.put("a", (self.by_name.get("a") or 0) + 1)
        self.by_id.put(1, {"a": 1})
        self.total.add(1)
        self.longest.add([1, 2])
        self.average.add(3)
        self.struct.update((1, "x"))
        self.struct.update({"a": 1, "b": "x"})
        self.any_list.add([1])
        self.pickled.update({"any": object()})
        self.sum.add(1)
        self.last.add({"x": 1, "y": 2})
        self.stats.update(Stats())
        struct = self.struct.value()
        yield self.count.value(), self.average.get(), None if struct is None else struct.a

        self.count.update("text")  # error: "update" of "ValueState" has incompatible type "str"; expected "int | None"
        self.mean.update("text")  # error: expected "float | None"
        self.seen.update(5)  # error: expected "datetime | None"
        self.day.update("2013-01-01")  # error: expected "date | None"
        self.open_.update("no")  # error: expected "bool | None"
        self.raw.update("x")  # error: expected "bytes | None"
        self.names.add(5)  # error: "add" of "ListState" has incompatible type "int"; expected "str"
        self.by_name.put(5, 1)  # error: Argument 1 to "put" of "MapState" has incompatible type "int"; expected "str"
        self.by_name.put("a", "b")  # error: Argument 2 to "put" of "MapState" has incompatible type "str"
        self.by_id.put("a", {})  # error: Argument 1 to "put" of "MapState" has incompatible type "str"; expected "int"
        self.total.add("x")  # error: "add" of "ReducingState" has incompatible type "str"; expected "int"
        self.longest.add(5)  # error: expected "list[int]"
        self.average.add("x")  # error: "add" of "AggregatingState" has incompatible type "str"; expected "int"
        self.stats.update(5)  # error: expected "Stats | None"
        text: str = self.by_name.get("a")  # error: Incompatible types in assignment
        ctx.timer_service().register_event_time_timer(text)  # error: incompatible type "str"
        ValueStateDescriptor("x", "long", tttl=None)  # error: No overload variant


class Parts(snapline.ProcessFunction, snapline.CheckpointedFunction):
    def initialize_state(self, ctx: snapline.FunctionInitializationContext) -> None:
        store = ctx.get_operator_state_store()
        self.offsets = store.get_list_state(ListStateDescriptor("offsets", "long"))
        self.rules = store.get_broadcast_state(MapStateDescriptor("rules", "string", "double"))

    def snapshot_state(self, ctx: snapline.FunctionSnapshotContext) -> None:
        self.offsets.add(1)
        self.rules.put("a", 1.5)
        self.offsets.add("x")  # error: expected "int"
        self.rules.put("a", "b")  # error: expected "float | None"
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """Messages of mypy by line."""
    folder: Path = tmp_path_factory.mktemp("typed")
    (folder / "program.py").write_text(PROGRAM)
    # The package's types as an installed wheel gives them; its own code is checked elsewhere.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", "program.py"]
    source = Path(__file__).parents[3] / "python" / "src"
    environment = {"MYPYPATH": str(source), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert ran.returncode in (0, 1), ran.stderr
    errors: dict[int, list[str]] = {}
    for line in ran.stdout.splitlines():
        if match := re.fullmatch(r"program\.py:(\d+): error: (.*)", line):
            errors.setdefault(int(match[1]), []).append(match[2])
    return errors


def test_correct_code_passes_and_wrong_types_do_not(found: dict[int, list[str]]) -> None:
    wanted = {
        number: text
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        for _, mark, text in [line.partition("  # error: ")]
        if mark
    }
    assert len(wanted) == 19
    assert {number: messages for number, messages in found.items() if number not in wanted} == {}
    assert [f"{number}: {text}" for number, text in wanted.items() if text not in " ".join(found.get(number, []))] == []


def test_descriptors_stay_what_they_are_at_run_time() -> None:
    """Frozen, compared by value, and generic by name only."""
    from snapline import ValueStateDescriptor

    plain = ValueStateDescriptor("count", "long")
    assert ValueStateDescriptor[int]("count", "long") == plain
    assert repr(plain) == "ValueStateDescriptor(name='count', type='long', ttl=None, namespace=None)"
    assert hash(ValueStateDescriptor[int]("count", "long")) == hash(plain)
