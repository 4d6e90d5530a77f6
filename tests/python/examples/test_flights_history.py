# mypy: disable-error-code="import-not-found"
"""The function of the demo against the batch computation that the demo checks it with, however the days are cut."""

import random

import check
import pandas as pd
import pytest
from data import FLIGHT_COLUMNS, HISTORY_COLUMNS, Tables
from history import SCHEMA, History

from snapline.testing import KeyedTestHarness

ROWS = (
    "carrier string, flight bigint, origin string, sched timestamp, hour timestamp, "
    "tailnum string, dest string, dep_delay bigint, distance bigint"
)


def some_flights(seed):
    """Four aircraft over two months, so that each is often not seen for three days; some flights have no aircraft."""
    source = random.Random(seed)
    minutes = sorted(source.sample(range(60 * 24 * 60), 120))
    sched = [pd.Timestamp(2013, 1, 1) + pd.Timedelta(minutes=minute) for minute in minutes]
    flights = pd.DataFrame(
        {
            "day": [time.dayofyear - 1 for time in sched],
            "carrier": "AA",
            "flight": range(120),
            "origin": "JFK",
            "sched": sched,
            "hour": [time.floor("h") for time in sched],
            "tailnum": [source.choice(["N1", "N1", "N1", "N2", "N3", "N4", None]) for _ in sched],
            "dest": [source.choice(["MIA", "BOS", "ORD"]) for _ in sched],
            "dep_delay": pd.array([source.choice([None, *range(-5, 60)]) for _ in sched], dtype="Int64"),
            "distance": 1089,
        }
    )
    return Tables(flights, pd.DataFrame(), days=60)


@pytest.mark.parametrize("days", [1, 2, 7, 60])
def test_the_reports_do_not_depend_on_the_micro_batches(days):
    flights = some_flights(days).flights
    with KeyedTestHarness(History(), key="tailnum", schema=ROWS, output=SCHEMA, event_time="sched") as harness:
        for _, part in flights.groupby(flights["day"] // days):
            rows = part[FLIGHT_COLUMNS].astype(object)
            harness.process_batch(list(rows.where(rows.notna(), None).itertuples(index=False, name=None)))
            harness.advance_watermark(part["sched"].max() - pd.Timedelta(hours=2))
        harness.advance_watermark(pd.Timestamp(2014, 1, 1))
        streamed = pd.DataFrame([tuple(row) for row in harness.output()], columns=HISTORY_COLUMNS)
        assert harness.num_timers() == 0
        assert harness.metrics["aircraftReported"] == len(streamed) > 4
    assert check.compare("history", streamed, check.history(flights)).differing == 0


def test_a_quiet_aircraft_is_in_the_batch_result_once_for_each_quiet_time(tables):
    history = check.history(tables.flights)
    assert history["tailnum"].tolist() == ["N1"]
    assert history["flights"].tolist() == [20]
    assert history["last_seen"].tolist() == [pd.Timestamp(2013, 1, 2, 8, 18)]
