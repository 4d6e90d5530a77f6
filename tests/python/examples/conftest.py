# mypy: disable-error-code="import-not-found"
import sys
from pathlib import Path

import pytest

# The examples are scripts: their modules find one another because Python starts in their folder.
EXAMPLES = Path(__file__).parents[3] / "examples"
sys.path[:0] = [str(EXAMPLES), str(EXAMPLES / "flights")]


@pytest.fixture
def tables():
    """Twenty flights on each of two days, one of them cancelled, and weather for the first day only."""
    import pandas as pd
    from data import Tables

    sched = [pd.Timestamp(2013, 1, day, 8, minute) for day in (1, 2) for minute in range(20)]
    flights = pd.DataFrame(
        {
            "day": [0] * 20 + [1] * 20,
            "carrier": "AA",
            "flight": range(40),
            "origin": ["JFK", "EWR"] * 20,
            "sched": sched,
            "hour": [time.floor("h") for time in sched],
            "tailnum": ["N1", None] * 20,
            "dest": "MIA",
            "dep_delay": pd.array([None, *range(39)], dtype="Int64"),
            "distance": 1089,
        }
    )
    weather = pd.DataFrame(
        {
            "day": [0],
            "origin": ["JFK"],
            "hour": [pd.Timestamp(2013, 1, 1, 8)],
            "temp": [39.0],
            "wind_speed": [12.7],
            "precip": [0.0],
            "visib": [10.0],
        }
    )
    return Tables(flights, weather, days=2)
