"""``last``: the newest row of each key by a column, as columns: no call of Python for a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType

from snapline.functions.arrow_state import ArrowState
from snapline.functions.context import RuntimeContext
from snapline.functions.process import KeyedProcessFunction
from snapline.state.descriptors import ValueStateDescriptor
from snapline.state.ttl import StateTtlConfig


class Last(KeyedProcessFunction):
    """Puts a row out that is not older than all rows of its key so far; of several in a chunk the newest.

    The state of a key is the newest value of the column. Rows in which it is null or NaN are passed over.
    """

    def __init__(self, by: int, kind: DataType, ttl: StateTtlConfig | None) -> None:
        self._by = by
        self._newest = ValueStateDescriptor[Any]("newest", kind, ttl=ttl)
        self._shown_as = "last"

    def open(self, ctx: RuntimeContext) -> None:
        ctx.get_state(self._newest)

    def process_arrow(self, batch: pa.RecordBatch, state: ArrowState) -> pa.RecordBatch:
        by = batch.column(self._by)
        positions = newest_of_each(state.key_index, by)
        slots = state.key_index[positions]
        before = state.value("newest")
        newest = by.take(pa.array(positions))
        is_newer = pc.greater_equal(newest, before.take(pa.array(slots))).fill_null(True)
        kept = is_newer.to_numpy(zero_copy_only=False)
        changed = np.zeros(len(before), bool)
        changed[slots[kept]] = True
        # A place for each key, of which those that did not change are not written.
        places = np.zeros(len(before), np.int64)
        places[slots] = positions
        state.update("newest", by.take(pa.array(places)), changed=changed)
        return batch.take(pa.array(positions[kept]))


def newest_of_each(slots: Any, by: pa.Array) -> Any:
    """For each slot the position of its greatest value, of equal ones the last; none without one.

    Args:
        slots: an array of numpy with the slot of each value.
        by: the values.
    """
    valid = np.flatnonzero(~by.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
    if not len(valid):
        return valid
    columns = {"slot": slots[valid], "by": by.take(pa.array(valid)), "at": np.arange(len(valid))}
    order = pc.sort_indices(pa.table(columns), [(name, "ascending") for name in columns]).to_numpy()
    sorted_slots = slots[valid][order]
    is_last = np.append(sorted_slots[1:] != sorted_slots[:-1], True)
    return valid[order[is_last]]
