"""``top_n``: the first rows of each key by columns, as columns: no call of Python for a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import ArrayType, StructType

from snapline.functions.arrow_state import ArrowState
from snapline.functions.context import RuntimeContext
from snapline.functions.process import KeyedProcessFunction
from snapline.state.descriptors import ValueStateDescriptor
from snapline.state.ttl import StateTtlConfig


class TopN(KeyedProcessFunction):
    """Keeps the first ``n`` rows of each key, and puts a row out whenever it gets another rank.

    A row with a null or NaN in a column comes after those without; of equal rows the older comes first.
    """

    def __init__(
        self, n: int, by: Sequence[int], descending: bool, rows: StructType, ttl: StateTtlConfig | None
    ) -> None:
        self._n = n
        self._by = tuple(by)
        self._order = "descending" if descending else "ascending"
        self._top = ValueStateDescriptor[Any]("top", ArrayType(rows), ttl=ttl)
        self._shown_as = "top_n"

    def open(self, ctx: RuntimeContext) -> None:
        ctx.get_state(self._top)

    def process_arrow(self, batch: pa.RecordBatch, state: ArrowState) -> pa.Table:
        before = state.value("top")
        kept, kind = before.flatten(), before.type.value_type
        lengths = pc.list_value_length(before).fill_null(0).to_numpy()
        keys = len(before)
        rows = pa.concat_arrays([kept, _structs(batch, kind)])
        # Rows of the state come first, so that they stay before new ones that equal them.
        slots = np.concatenate([np.repeat(np.arange(keys), lengths), state.key_index])
        ranks = np.concatenate([_ranks(lengths), np.zeros(batch.num_rows, np.int64)])
        order = self._sorted(slots, rows)
        slots = slots[order]
        counts = np.bincount(slots, minlength=keys)
        rank = _ranks(counts)
        is_in = rank <= self._n
        order, slots, rank = order[is_in], slots[is_in], rank[is_in]
        moved = ranks[order] != rank
        changed = np.zeros(keys, bool)
        changed[slots[moved]] = True
        offsets = np.concatenate([[0], np.cumsum(np.minimum(counts, self._n))])
        top = rows.take(pa.array(order))
        state.update(
            "top", pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), top).cast(before.type), changed=changed
        )
        put_out = top.filter(pa.array(moved))
        columns = [pa.array(rank[moved], pa.int32()), *put_out.flatten()]
        return pa.Table.from_arrays(columns, names=["__rank", *batch.schema.names])

    def _sorted(self, slots: Any, rows: pa.StructArray) -> Any:
        columns: dict[str, Any] = {"slot": slots}
        keys = [("slot", "ascending")]
        for at in self._by:
            columns[f"by{at}"] = rows.field(at)
            keys.append((f"by{at}", self._order))
        columns["at"] = np.arange(len(rows))
        return pc.sort_indices(pa.table(columns), [*keys, ("at", "ascending")]).to_numpy()


def _structs(batch: pa.RecordBatch, kind: pa.StructType) -> pa.StructArray:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _ranks(counts: Any) -> Any:
    """1 to the count, for each count."""
    starts = np.cumsum(counts) - counts
    return np.arange(1, counts.sum() + 1) - np.repeat(starts, counts)
