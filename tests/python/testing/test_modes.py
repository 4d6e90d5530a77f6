"""``process_batch``, ``process_arrow`` and the short forms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from snapline import (
    AggregateFunction,
    FunctionFailed,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.stream.folding import aggregation, reduction
from snapline.testing import Bounds, KeyedTestHarness

SCHEMA = "k string, e long, v long, at timestamp"
TEN = datetime(2020, 1, 1, 10)
ROWS = [("ab"[i % 2], None if i == 7 else i % 3, i, TEN + timedelta(minutes=i)) for i in range(8)]
BOUNDS = [Bounds(), Bounds(chunk_rows=3, max_keys=2), Bounds(chunk_rows=1)]


def harness(function: KeyedProcessFunction, output: str = "k string, n long", **more: Any) -> KeyedTestHarness:
    return KeyedTestHarness(function, key="k", schema=SCHEMA, output=output, time_zone="America/New_York", **more)


class Sums(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_state(ValueStateDescriptor("sum", "long"))

    def add(self, n: int) -> int:
        total: int = (self.sum.value() or 0) + n
        self.sum.update(total)
        return total


class ArrowSums(Sums):
    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
        assert ctx.get_current_key() == key == batch.column("k")[0].as_py()
        assert ctx.timestamp() is not None
        return pa.table({"n": [self.add(pc.sum(batch.column("v")).as_py())], "k": [key]})


class PandasSums(Sums):
    batch_type = "pandas"

    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
        import pandas as pd

        assert batch["at"].dt.tz is None
        yield pd.DataFrame({"k": [key], "n": [self.add(int(batch["v"].sum()))]})


class PolarsSums(Sums):
    batch_type = "polars"

    def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
        import polars as pl

        assert batch.schema["at"] == pl.Datetime("us")
        yield pl.DataFrame({"n": [self.add(batch["v"].sum())], "k": [key]})


class RowSums(Sums):
    def process_batch(self, key: Any, batch: pa.RecordBatch, ctx: Any) -> Any:
        yield key, self.add(sum(batch.column("v").to_pylist()))


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("function", [ArrowSums, PandasSums, PolarsSums, RowSums])
def test_a_batch_has_all_rows_of_a_key(function: Any, bounds: Bounds) -> None:
    if function is PolarsSums:
        pytest.importorskip("polars")
    with harness(function(), bounds=bounds, event_time="at") as run:
        assert run.process_batch(ROWS) == [("a", 12), ("b", 16)]
        assert run.process_batch(ROWS) == [("a", 24), ("b", 32)]


def test_a_frame_that_does_not_fit_is_told() -> None:
    class Wrong(KeyedProcessFunction):
        def __init__(self, result: Any) -> None:
            self.result = result

        def process_batch(self, key: Any, batch: Any, ctx: Any) -> Any:
            return self.result

    with pytest.raises(FunctionFailed, match="a data frame with the columns n, where k, n belong"):
        harness(Wrong(pa.table({"n": [1]}))).process_batch(ROWS)
    with pytest.raises(FunctionFailed, match="column n is of type int64, and was given string"):
        harness(Wrong(pa.table({"k": ["a"], "n": ["x"]}))).process_batch(ROWS)
    with pytest.raises(
        FunctionFailed, match="process_batch of Wrong raised TypeError: 'int' object is not iterable at key 'a'"
    ):
        harness(Wrong(5)).process_batch(ROWS)


BIG = OutputTag("big", "k string, v long")
TTL = StateTtlConfig(timedelta(seconds=10))


class Columns(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.sum = ctx.get_state(ValueStateDescriptor("sum", "long"))
        self.counts = ctx.get_map_state(MapStateDescriptor("counts", "long", "long", entry="e"))
        ctx.get_state(ValueStateDescriptor("recent", "long", ttl=TTL))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> Iterator[Any]:
        sums = np.zeros(len(state.keys), np.int64)
        np.add.at(sums, state.key_index, batch.column("v").to_numpy())
        state.update("sum", pc.add(pc.fill_null(state.value("sum"), 0), pa.array(sums)))
        entries = state.entries("counts")
        seen = np.bincount(state.entry_index("counts"), minlength=len(entries))
        state.update_entries("counts", pc.add(pc.fill_null(entries, 0), pa.array(seen)))
        assert len(state.entry_keys("counts")) == len(state.entry_key_index("counts")) == len(entries)
        fresh = state.value("recent").is_null()
        state.update("recent", sums, changed=fresh)
        assert state.value("recent").null_count == 0
        state.register_event_time_timers(pa.array([TEN] * len(state.keys)))
        state.output(BIG, batch.filter(pc.greater(batch.column("v"), 6)).select(["v", "k"]))
        yield pa.table({"k": state.keys.column("k"), "n": state.value("sum")})

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.sum.value() * 100 + sum(self.counts.values())
        self.counts.clear()


@pytest.mark.parametrize("bounds", BOUNDS)
def test_columns_of_many_keys(bounds: Bounds) -> None:
    with harness(Columns(), bounds=bounds, event_time="at", side_outputs=[BIG]) as run:
        assert dict(map(tuple, run.process_batch(ROWS))) == {"a": 12, "b": 16}
        assert run.side_output(BIG) == [("b", 7)]
        assert run.state("counts", "a") == {0: 2, 1: 1, 2: 1}
        assert run.state("counts", "b") == {0: 1, 1: 1, 2: 1}  # the row without an entry counts nowhere
        first = run.state("recent", "a")
        run.advance_processing_time(9_999)
        assert run.state("recent", "a") == first
        run.advance_processing_time(10_000)
        assert run.state("recent", "a") is None
        assert sorted(run.advance_watermark(TEN)) == [("a", 1204), ("b", 1603)]
        assert (run.state("counts", "a"), run.num_timers()) == (None, 0)


def test_columns_that_do_not_fit_are_told() -> None:
    class Wrong(KeyedProcessFunction):
        def __init__(self, name: str, values: Any, **more: Any) -> None:
            self.name, self.values, self.more = name, values, more

        def open(self, ctx: Any) -> None:
            ctx.get_state(ValueStateDescriptor("sum", "long"))

        def process_arrow(self, batch: Any, state: Any) -> Any:
            state.update(self.name, self.values, **self.more)

    for function, message in (
        (Wrong("summ", [1, 2]), "summ is no value state of the function"),
        (Wrong("sum", [1]), "1 values for the 2 of state sum"),
        (Wrong("sum", ["x", "y"]), "state sum is of type int64"),
        (Wrong("sum", [1, 2], changed=[1, 0]), "changed has 2 of int64"),
    ):
        with pytest.raises(InvalidConfiguration, match=message):
            harness(function).process_batch(ROWS)


def test_null_deletes_and_unchanged_stays() -> None:
    class Deletes(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            ctx.get_state(ValueStateDescriptor("sum", "long"))

        def process_arrow(self, batch: Any, state: Any) -> Any:
            if state.value("sum").null_count:
                state.update("sum", [1, 2])
            else:
                state.update("sum", pa.array([None, 5], pa.int64()), changed=np.array([True, False]))

    with harness(Deletes()) as run:
        run.process_batch(ROWS)
        run.process_batch(ROWS)
        assert (run.state("sum", "a"), run.state("sum", "b")) == (None, 2)


class Mean(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value.v, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator[0] / accumulator[1])


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_short_forms_emit_per_element_or_per_batch(bounds: Bounds) -> None:
    def latest(a: Any, b: Any) -> Any:
        return {"k": a.k, "e": b.e, "v": a.v + b.v, "at": b.at}

    schema = parse_schema(SCHEMA, "rows")
    with harness(reduction(latest, schema, "per_element"), SCHEMA, bounds=bounds) as run:
        assert [(row.k, row.v) for row in run.process_batch(ROWS[:4])] == [("a", 0), ("b", 1), ("a", 2), ("b", 4)]
    with harness(reduction(latest, schema, "per_batch"), SCHEMA, bounds=bounds) as run:
        assert sorted((row.k, row.v) for row in run.process(ROWS, batch_size=4)) == [
            ("a", 2),
            ("a", 12),
            ("b", 4),
            ("b", 16),
        ]
    mean = "k string, mean double"
    with harness(aggregation(Mean(), "struct<s:long,n:long>", 1, ["mean"], "per_element"), mean, bounds=bounds) as run:
        assert run.process_batch(ROWS[:4]) == [("a", 0.0), ("b", 1.0), ("a", 1.0), ("b", 2.0)]
    with harness(aggregation(Mean(), "struct<s:long,n:long>", 1, ["mean"], "per_batch"), mean, bounds=bounds) as run:
        assert sorted(run.process_batch(ROWS)) == [("a", 3.0), ("b", 4.0)]
    with pytest.raises(InvalidConfiguration, match="emit is 'never'"):
        reduction(latest, schema, "never")  # type: ignore[arg-type]
