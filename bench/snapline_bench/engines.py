"""One sum per key (or per key and entry), written for each engine as its users would write it.

Snapline's functions are called for every row and put out a row for every row. Spark's stateful processors get their
best shape: they sum the rows of a key first, touch the state once per key and batch, and put out one row then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

import snapline

OUT = "key bigint, total bigint"


class Sum(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.total = ctx.get_reducing_state(snapline.ReducingStateDescriptor("total", lambda a, b: a + b, "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        self.total.add(row.value)
        yield row.key, self.total.get()


class SumByEntry(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.totals = ctx.get_map_state(snapline.MapStateDescriptor("totals", "long", "long", entry="entry"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        total = (self.totals.get(row.entry) or 0) + row.value
        self.totals.put(row.entry, total)
        yield row.key, total


def added(old: pa.Array, index: np.ndarray, values: pa.Array) -> pa.Array:
    sums = np.bincount(index, weights=values.to_numpy(), minlength=len(old)).astype(np.int64)
    return pa.array(old.fill_null(0).to_numpy() + sums)


class ArrowSum(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        ctx.get_state(snapline.ValueStateDescriptor("total", "long"))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        totals = added(state.value("total"), state.key_index, batch.column("value"))
        state.update("total", totals)
        return pa.record_batch([state.keys.column(0), totals], names=["key", "total"])


class ArrowSumByEntry(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        ctx.get_map_state(snapline.MapStateDescriptor("totals", "long", "long", entry="entry"))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        index = state.entry_index("totals")
        totals = added(state.entries("totals"), index, batch.column("value"))
        state.update_entries("totals", totals)
        return pa.record_batch([batch.column("key"), totals.take(pa.array(index))], names=["key", "total"])


class RowSum(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total = handle.getValueState("total", "total long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        found = self.total.get()
        total = (found[0] if found else 0) + sum(row.value for row in rows)
        self.total.update((total,))
        yield Row(key=key[0], total=total)

    def close(self) -> None: ...


class RowSumByEntry(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.totals = handle.getMapState("totals", "entry long", "total long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        sums: dict[int, int] = {}
        for row in rows:
            sums[row.entry] = sums.get(row.entry, 0) + row.value
        for entry, value in sums.items():
            found = self.totals.getValue((entry,)) if self.totals.containsKey((entry,)) else None
            total = (found[0] if found else 0) + value
            self.totals.updateValue((entry,), (total,))
            yield Row(key=key[0], total=total)

    def close(self) -> None: ...


class PandasSum(RowSum):
    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        found = self.total.get()
        total = (found[0] if found else 0) + int(sum(frame["value"].sum() for frame in rows))
        self.total.update((total,))
        yield pd.DataFrame({"key": [key[0]], "total": [total]})


class PandasSumByEntry(RowSumByEntry):
    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        frame = pd.concat(list(rows))
        out = []
        for entry, value in frame.groupby("entry")["value"].sum().items():
            found = self.totals.getValue((entry,)) if self.totals.containsKey((entry,)) else None
            total = (found[0] if found else 0) + int(value)
            self.totals.updateValue((entry,), (total,))
            out.append(total)
        yield pd.DataFrame({"key": [key[0]] * len(out), "total": out})


def native(rows: DataFrame, by_entry: bool) -> DataFrame:
    return rows.groupBy("key", *(["entry"] if by_entry else [])).agg(F.sum("value").alias("total"))


def row(rows: DataFrame, by_entry: bool) -> DataFrame:
    processor = RowSumByEntry() if by_entry else RowSum()
    return rows.groupBy("key").transformWithState(processor, OUT, "Update", "None")


def pandas(rows: DataFrame, by_entry: bool) -> DataFrame:
    processor = PandasSumByEntry() if by_entry else PandasSum()
    return rows.groupBy("key").transformWithStateInPandas(processor, OUT, "Update", "None")


def element(rows: DataFrame, by_entry: bool) -> DataFrame:
    return snapline.key_by(rows, "key").process(SumByEntry() if by_entry else Sum(), OUT)


def arrow(rows: DataFrame, by_entry: bool) -> DataFrame:
    return snapline.key_by(rows, "key").process(ArrowSumByEntry() if by_entry else ArrowSum(), OUT)


def stateless(rows: DataFrame, by_entry: bool) -> DataFrame:
    return rows.repartition("key").mapInArrow(lambda batches: batches, rows.schema)


ENGINES: dict[str, Callable[[DataFrame, bool], DataFrame]] = {
    "stateless": stateless,
    "native": native,
    "row": row,
    "pandas": pandas,
    "snapline": element,
    "arrow": arrow,
}
