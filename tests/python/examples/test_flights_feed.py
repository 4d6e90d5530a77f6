# mypy: disable-error-code="import-not-found"
import feed
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def folder(tables, tmp_path):
    feed.prepare(tables, tmp_path / "data")
    return tmp_path / "data"


def rows(folder):
    """All rows in the order in which Spark's file source takes the files."""
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def test_rows_arrive_in_time_order_and_the_last_one_closes_everything(folder):
    for name, time in (("flights", "sched"), ("weather", "hour")):
        times = [row[time] for row in rows(folder / name)]
        assert times == sorted(times)
        assert rows(folder / name)[-1]["origin"] == feed.SENTINEL
        assert (times[-1] - times[-2]).days >= 6


def test_one_file_a_day_and_one_more(folder):
    assert [file.name for file in sorted((folder / "flights").iterdir())] == [
        "day-000.parquet",
        "day-001.parquet",
        "day-002.parquet",
    ]


def test_every_tenth_flight_comes_twice_by_turns_on_the_same_day_and_the_next(folder):
    days: dict[int, list[int]] = {}
    for file in sorted((folder / "resent").iterdir()):
        for row in pq.read_table(file).to_pylist():
            days.setdefault(row["flight"], []).append(int(file.stem[-3:]))
    again = {flight: at for flight, at in days.items() if len(at) > 1 and flight > 0}
    assert again == {10: [0, 1], 20: [1, 1], 30: [1, 2]}
    assert days[0] == [0, 0, 2]  # the last one is the row that closes everything


def test_row_counts_are_those_of_the_files(tables, folder):
    written = {name: len(rows(folder / name)) for name in ("flights", "resent", "weather")}
    assert feed.row_counts(tables) == {
        "delays": written["flights"],
        "distinct": written["resent"],
        "conditions": written["flights"] + written["weather"],
        "history": written["flights"],
    }
