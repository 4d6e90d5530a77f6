"""Queries of Nexmark that Spark cannot say over streams, as keyed functions over the views of `nexmark_queries`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline_bench.nexmark_queries import JOINED, RANKS

DISTINCT = ("bidder", "auction")
"""After the bids themselves."""
GROUPS = 1 + len(RANKS)
"""All, and those of each rank."""
COUNTS = GROUPS * (1 + len(DISTINCT))


class DistinctCounts(snapline.KeyedProcessFunction):
    """The bids of a key, its bidders and its auctions: how many in all, and how many of each rank.

    The state has a bit for each rank that a bidder or an auction was seen in.
    """

    def open(self, ctx: Any) -> None:
        ctx.get_state(snapline.ValueStateDescriptor("counts", "array<bigint>"))
        for column in DISTINCT:
            ctx.get_map_state(snapline.MapStateDescriptor(column, "bigint", "int", entry=column))

    def process_arrow(self, batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        keys = len(state.keys)
        ranks = batch.column("place").to_numpy()
        before = state.value("counts")
        counts = np.zeros((keys, COUNTS), np.int64)
        counts[before.is_valid().to_numpy(zero_copy_only=False)] = before.flatten().to_numpy().reshape(-1, COUNTS)
        counts[:, 0] += np.bincount(state.key_index, minlength=keys)
        for rank in range(len(RANKS)):
            counts[:, 1 + rank] += np.bincount(state.key_index[ranks == rank], minlength=keys)
        for number, column in enumerate(DISTINCT):
            counts[:, GROUPS * (1 + number) :][:, :GROUPS] += self._new(column, ranks, state, keys)
        offsets = np.arange(keys + 1, dtype=np.int32) * COUNTS
        state.update("counts", pa.ListArray.from_arrays(pa.array(offsets), pa.array(counts.ravel())))
        columns = [*state.keys.columns, *(pa.array(column) for column in counts.T)]
        return pa.record_batch(columns, names=[*state.keys.schema.names, *(f"n{n}" for n in range(COUNTS))])

    def _new(self, column: str, ranks: np.ndarray, state: Any, keys: int) -> np.ndarray:
        """The values that a key did not have: in all, and in each rank."""
        old = state.entries(column).fill_null(0).to_numpy()
        seen = np.zeros(len(old), np.int32)
        np.bitwise_or.at(seen, state.entry_index(column), np.int32(1) << ranks)
        new, owner = seen & ~old, state.entry_key_index(column)
        state.update_entries(column, old | seen, changed=new != 0)
        groups = [old == 0, *((new & (1 << rank)) != 0 for rank in range(len(RANKS)))]
        return np.stack([np.bincount(owner[group], minlength=keys) for group in groups], axis=1)


def _distinct(session: SparkSession, *keys: str) -> DataFrame:
    bids = session.sql(
        f"SELECT channel, date_format(time, 'yyyy-MM-dd') AS day, bidder, auction,"
        f" CASE WHEN {RANKS[0]} THEN 0 WHEN {RANKS[1]} THEN 1 ELSE 2 END AS place FROM bid"
    )
    names = ", ".join([*(f"{key} string" for key in keys), *(f"n{n} bigint" for n in range(COUNTS))])
    return snapline.key_by(bids.select(*keys, *DISTINCT, "place"), *keys).process(DistinctCounts(), names)


def _bids(session: SparkSession) -> DataFrame:
    return session.sql("SELECT auction, bidder, price, channel, url, time, extra FROM bid")


def _sold(session: SparkSession) -> DataFrame:
    return session.sql(f"SELECT id, item, seller, bidder, price, time FROM ({JOINED})")


KEYED: dict[str, Callable[[SparkSession], DataFrame]] = {
    "q9": lambda session: snapline.key_by(_sold(session), "id").top_n(1, by="price").drop("rank"),
    "q15": lambda session: _distinct(session, "day"),
    "q16": lambda session: _distinct(session, "channel", "day"),
    "q19": lambda session: snapline.key_by(_bids(session), "auction").top_n(10, by="price"),
}
