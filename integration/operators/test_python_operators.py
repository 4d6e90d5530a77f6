"""Spark's stateful operators whose function is Python, on our store: counted, stopped, and counted on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

OUT = "key long, total long"


class Total(StatefulProcessor):
    """A running sum per key in a value state, and every amount in a list state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total = handle.getValueState("total", "total long")
        self.amounts = handle.getListState("amounts", "amount long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        amounts = [int(amount) for row in rows for amount in _amounts(row)]
        known = self.total.get()
        self.total.update(((known[0] if known else 0) + sum(amounts),))
        self.amounts.appendList([(amount,) for amount in amounts])
        total = self.total.get()[0]
        assert total == sum(row[0] for row in self.amounts.get())
        yield self.emit(int(key[0]), int(total))

    def emit(self, key: int, total: int) -> Any:
        return Row(key=key, total=total)

    def close(self) -> None:
        pass


class PandasTotal(Total):
    """The same on data frames."""

    def emit(self, key: int, total: int) -> Any:
        return pd.DataFrame({"key": [key], "total": [total]})


def _amounts(row: Any) -> list[int]:
    return list(row["amount"]) if isinstance(row, pd.DataFrame) else [row["amount"]]


def with_state(key: tuple[Any], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """The same for applyInPandasWithState."""
    total = (state.get[0] if state.exists else 0) + sum(int(frame["amount"].sum()) for frame in frames)
    state.update((total,))
    yield pd.DataFrame({"key": [key[0]], "total": [total]})


def query(rows: DataFrame, operator: str) -> DataFrame:
    """The operator under test, over rows of (key, amount)."""
    grouped = rows.groupBy("key")
    if operator == "applyInPandasWithState":
        return grouped.applyInPandasWithState(with_state, OUT, "total long", "update", "NoTimeout")
    if operator == "transformWithState":
        return grouped.transformWithState(Total(), OUT, "Update", "None")
    return grouped.transformWithStateInPandas(PandasTotal(), OUT, "Update", "None")


@pytest.mark.parametrize("operator", ["applyInPandasWithState", "transformWithState", "transformWithStateInPandas"])
def test_counts_survive_a_restart(spark: SparkSession, tmp_path: Path, operator: str) -> None:
    (tmp_path / "in").mkdir()
    seen: dict[int, int] = {}
    expected: dict[int, int] = {}

    def keep(batch: DataFrame, number: int) -> None:
        seen.update({row["key"]: row["total"] for row in batch.collect()})

    for part in range(3):
        keys = [n % 17 for n in range(300)]
        amounts = [part * 1000 + n for n in range(300)]
        for key, amount in zip(keys, amounts, strict=True):
            expected[key] = expected.get(key, 0) + amount
        pq.write_table(pa.table({"key": keys, "amount": amounts}), tmp_path / "in" / f"{part}.parquet")
        rows = spark.readStream.schema("key long, amount long").parquet(str(tmp_path / "in"))
        totals = query(rows, operator)
        if operator != "applyInPandasWithState":  # its rows are not fit for an exchange, whatever the store
            # As in front of another operator: Spark then copies the one below to compare it.
            totals = totals.repartition("total")
        writer = totals.writeStream.outputMode("update").foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        assert seen == expected
    assert list((tmp_path / "checkpoint/state/0").rglob("*.changelog"))
