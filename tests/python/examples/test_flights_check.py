# mypy: disable-error-code="import-not-found"
"""The comparison at the end of the demo is worth nothing unless it can fail."""

import check
import pandas as pd
import pytest


@pytest.fixture
def batch(tables):
    return check.batch_tables(tables)


@pytest.mark.parametrize("query", ["delays", "distinct", "conditions", "history"])
def test_equal_rows_in_another_order_do_not_differ(batch, query):
    comparison = check.compare(query, batch[query].sample(frac=1, random_state=1), batch[query])
    assert comparison.differing == 0
    assert comparison.streamed == comparison.batch == len(batch[query])


def test_the_last_row_of_the_feed_is_no_result(batch):
    sentinel = batch["distinct"].head(1).assign(origin="END")
    assert check.compare("distinct", pd.concat([batch["distinct"], sentinel]), batch["distinct"]).differing == 0


def test_a_row_too_few_and_a_row_too_many_are_found(batch):
    rows = batch["distinct"]
    lost = check.compare("distinct", rows.drop(index=3), rows)
    assert (len(lost.missing), len(lost.extra)) == (1, 0)
    assert lost.missing["flight"].tolist() == [3]
    twice = check.compare("distinct", pd.concat([rows, rows.iloc[[3]]]), rows)
    assert (len(twice.missing), len(twice.extra)) == (0, 1)
    assert twice.extra["flight"].tolist() == [3]


@pytest.mark.parametrize(
    ("query", "column", "wrong"),
    [
        ("delays", "total_delay", 1),
        ("delays", "mean_delay", 9.300000000000001),
        ("distinct", "tailnum", "N2"),
        ("distinct", "dep_delay", 0),
        ("conditions", "temp", None),
        ("conditions", "sched", pd.Timestamp(2013, 1, 1, 8, 0, 0, 1)),
    ],
)
def test_one_wrong_value_is_found(batch, query, column, wrong):
    streamed = batch[query].copy()
    streamed.loc[0, column] = wrong
    comparison = check.compare(query, streamed, batch[query])
    assert (len(comparison.missing), len(comparison.extra)) == (1, 1)


def test_other_columns_are_refused(batch):
    with pytest.raises(ValueError, match="the stream wrote the columns"):
        check.compare("delays", batch["delays"].drop(columns="flights"), batch["delays"])


def test_a_cancelled_flight_counts_but_has_no_delay(batch):
    delays = batch["delays"].set_index(["origin", "hour"])
    morning = delays.loc[("JFK", pd.Timestamp(2013, 1, 1, 8))]
    assert (morning["flights"], morning["departed"]) == (10, 9)
    assert morning["total_delay"] == sum(range(1, 18, 2))
    assert morning["worst_delay"] == 17


def test_a_flight_without_weather_stays(batch):
    conditions = batch["conditions"]
    assert len(conditions) == 40
    assert conditions["temp"].notna().sum() == 10
