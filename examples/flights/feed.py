"""Cuts the tables into the files that the job streams: one Parquet file a day, in the order in which they arrive.

Three folders: `flights` and `weather` as they are, and `resent`, the flights as a line would deliver them that sends
every tenth row twice, every other time a day late. A last file carries one row far in the future. It pushes the
watermark past all real rows, so that the job emits every window and every unmatched flight, and every timer is due. The
queries must not filter it: the optimizer would move the filter below the watermark, which would then never advance.
`check` takes it out.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from data import FLIGHT_COLUMNS, WEATHER_COLUMNS, Tables

SENTINEL = "END"
"""The origin of the last row of every folder; no airport has this code."""

_FIRST_ARRIVAL = 1_357_016_400  # midnight of 1 January 2013 in New York, in seconds
_DAY = 86_400
_TEXT, _LONG, _DOUBLE, _TIME = pa.string(), pa.int64(), pa.float64(), pa.timestamp("us")

FLIGHT_SCHEMA = pa.schema(
    list(zip(FLIGHT_COLUMNS, [_TEXT, _LONG, _TEXT, _TIME, _TIME, _TEXT, _TEXT, _LONG, _LONG], strict=True))
)
WEATHER_SCHEMA = pa.schema(list(zip(WEATHER_COLUMNS, [_TEXT, _TIME, _DOUBLE, _DOUBLE, _DOUBLE, _DOUBLE], strict=True)))


def prepare(tables: Tables, folder: Path) -> None:
    """Writes the three folders, unless an earlier run has."""
    if folder.exists():
        return
    half_done = folder.with_name(folder.name + ".part")
    shutil.rmtree(half_done, ignore_errors=True)
    end = tables.flights["hour"].max() + pd.Timedelta(days=7)
    last_flight = {"carrier": SENTINEL, "flight": 0, "origin": SENTINEL, "sched": end, "hour": end, "distance": 0}
    last_weather = {"origin": SENTINEL, "hour": end}
    _write(half_done / "flights", _with_last(tables.flights, last_flight, tables.days), FLIGHT_SCHEMA)
    _write(half_done / "resent", _with_last(resend(tables.flights), last_flight, tables.days), FLIGHT_SCHEMA)
    _write(half_done / "weather", _with_last(tables.weather, last_weather, tables.days), WEATHER_SCHEMA)
    half_done.rename(folder)


def resend(flights: pd.DataFrame) -> pd.DataFrame:
    """The flights with every tenth row a second time: at the end of its own day and of the next day, by turns."""
    again = flights.iloc[::10].copy()
    again["day"] += [turn % 2 for turn in range(len(again))]
    return pd.concat([flights, again], ignore_index=True)


def row_counts(tables: Tables) -> dict[str, int]:
    """How many rows each query has to read, the last one of every folder among them."""
    flights, weather = len(tables.flights) + 1, len(tables.weather) + 1
    return {
        "delays": flights,
        "distinct": flights + len(tables.flights.iloc[::10]),
        "conditions": flights + weather,
        "history": flights,
    }


def _with_last(frame: pd.DataFrame, last: dict[str, object], days: int) -> pd.DataFrame:
    return pd.concat([frame, pd.DataFrame([{**last, "day": days}]).astype({"day": frame["day"].dtype})])


def _write(folder: Path, frame: pd.DataFrame, schema: pa.Schema) -> None:
    folder.mkdir(parents=True)
    for day, rows in frame.groupby("day"):
        file = folder / f"day-{day:03d}.parquet"
        pq.write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False), file)
        # Spark's file source takes files in the order of their modification time.
        arrival = _FIRST_ARRIVAL + int(day) * _DAY
        os.utime(file, (arrival, arrival))
