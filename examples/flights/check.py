"""Computes the four tables from the data itself, at once and without Spark, and compares the job's output with them.

Row by row and exactly: the sums are of whole numbers, and one division of the same two numbers is the same everywhere,
so even the means need no tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from data import CONDITION_COLUMNS, DELAY_COLUMNS, FLIGHT_COLUMNS, FLIGHT_KEY, HISTORY_COLUMNS, Tables
from feed import SENTINEL

# Not the name in history.py: what is compared shares no code with what it is compared with.
_QUIET = pd.Timedelta(days=3)


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
        "history": history(flights),
    }


def history(flights: pd.DataFrame) -> pd.DataFrame:
    """What each aircraft had done before each time that it was not seen for longer than three days."""
    flights = flights[flights["tailnum"].notna()].sort_values(["sched", *FLIGHT_KEY[:3]], kind="stable")
    by_aircraft = flights.groupby("tailnum")
    return flights.assign(
        flights=by_aircraft.cumcount() + 1,
        # A sum of nothing is null, as in SQL.
        total_delay=by_aircraft["dep_delay"].cumsum().groupby(flights["tailnum"]).ffill(),
        last_dest=flights["dest"],
        last_seen=flights["sched"],
    ).loc[~(by_aircraft["sched"].shift(-1) <= flights["sched"] + _QUIET), HISTORY_COLUMNS]


def compare(query: str, streamed: pd.DataFrame, batch: pd.DataFrame) -> Comparison:
    """Counts every distinct row on both sides; order means nothing, how often a row occurs does."""
    if "origin" in streamed:
        streamed = streamed[streamed["origin"] != SENTINEL]
    columns = list(batch.columns)
    if set(streamed.columns) != set(columns):
        raise ValueError(f"{query}: the stream wrote the columns {list(streamed.columns)}, not {columns}")
    sides = [streamed[columns].astype(_comparable(batch)).assign(n=1), batch.astype(_comparable(batch)).assign(n=-1)]
    surplus = pd.concat(sides).groupby(columns, dropna=False, sort=False)["n"].sum().reset_index()
    return Comparison(
        query=query,
        streamed=len(streamed),
        batch=len(batch),
        missing=_repeat(surplus, -surplus["n"]),
        extra=_repeat(surplus, surplus["n"]),
    )


def _comparable(frame: pd.DataFrame) -> dict[str, str]:
    """One type a kind of value: a column with nulls and one without must not differ by their types alone."""
    kinds = {"i": "Int64", "u": "Int64", "f": "Float64", "M": "datetime64[us]"}
    return {name: kinds.get(kind.kind, "string") for name, kind in frame.dtypes.items()}


def _repeat(surplus: pd.DataFrame, times: pd.Series) -> pd.DataFrame:
    return surplus.loc[surplus.index.repeat(times.clip(lower=0))].drop(columns="n").reset_index(drop=True)
