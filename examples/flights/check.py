"""Computes the three tables from the data itself, at once and without Spark, and compares the job's output with them.

Row by row and exactly: the sums are of whole numbers, and one division of the same two numbers is the same everywhere,
so even the means need no tolerance.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd
from data import CONDITION_COLUMNS, DELAY_COLUMNS, FLIGHT_COLUMNS, Tables
from feed import SENTINEL


@dataclass(frozen=True)
class Comparison:
    """`missing` rows are in the batch result only, `extra` rows in the stream's only; a wrong row is one of each."""

    query: str
    streamed: int
    batch: int
    missing: pd.DataFrame
    extra: pd.DataFrame

    @property
    def differing(self) -> int:
        return len(self.missing) + len(self.extra)


def batch_tables(tables: Tables) -> dict[str, pd.DataFrame]:
    """What each query must have written once it has seen everything."""
    flights = tables.flights
    hours = flights.groupby(["origin", flights["sched"].dt.floor("h").rename("hour")])["dep_delay"]
    delays = pd.DataFrame(
        {
            "flights": hours.size(),
            "departed": hours.count(),
            "total_delay": hours.sum(min_count=1),
            "mean_delay": hours.sum(min_count=1) / hours.count(),
            "worst_delay": hours.max(),
        }
    )
    conditions = flights.merge(tables.weather.drop(columns="day"), on=["origin", "hour"], how="left")
    return {
        "delays": delays.reset_index()[DELAY_COLUMNS],
        "distinct": flights[FLIGHT_COLUMNS],
        "conditions": conditions[CONDITION_COLUMNS],
    }


def compare(query: str, streamed: pd.DataFrame, batch: pd.DataFrame) -> Comparison:
    """Counts every distinct row on both sides; order means nothing, how often a row occurs does."""
    streamed = streamed[streamed["origin"] != SENTINEL]
    columns = list(batch.columns)
    if set(streamed.columns) != set(columns):
        raise ValueError(f"{query}: the stream wrote the columns {list(streamed.columns)}, not {columns}")
    kinds = _comparable(batch)
    stream_rows, batch_rows = _count(streamed[columns].astype(kinds)), _count(batch.astype(kinds))
    return Comparison(
        query=query,
        streamed=len(streamed),
        batch=len(batch),
        missing=pd.DataFrame((batch_rows - stream_rows).elements(), columns=columns),
        extra=pd.DataFrame((stream_rows - batch_rows).elements(), columns=columns),
    )


def _count(frame: pd.DataFrame) -> Counter[tuple[object, ...]]:
    """How often each row occurs. Not by groupby: with nulls among many keys, pandas 2.3 tears equal rows apart."""
    plain = frame.astype(object).where(frame.notna(), None)
    return Counter(plain.itertuples(index=False, name=None))


def _comparable(frame: pd.DataFrame) -> dict[str, str]:
    """One type a kind of value: a column with nulls and one without must not differ by their types alone."""
    kinds = {"i": "Int64", "u": "Int64", "f": "Float64", "M": "datetime64[us]"}
    return {name: kinds.get(kind.kind, "string") for name, kind in frame.dtypes.items()}
