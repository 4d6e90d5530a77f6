"""Queries of Nexmark over a stream, on Snapline's store: the rows that Spark finds in a batch over the same files."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import Row, SparkSession
from snapline_bench import nexmark_keyed
from snapline_bench.events import FILES_A_BATCH, prepare
from snapline_bench.nexmark import results
from snapline_bench.nexmark_events import IN_ALL, RATE, SCHEMA, NexmarkEvents
from snapline_bench.nexmark_queries import QUERIES

from ..spark_session import open_session

# 12 seconds, so that a window of ten closes before the end and another one by it.
EVENTS = NexmarkEvents(rows=4 * RATE, batches=3, ends=True)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("nexmark")
    # Workers do not have the bench on their path.
    cloudpickle.register_pickle_by_value(nexmark_keyed)
    yield session
    cloudpickle.unregister_pickle_by_value(nexmark_keyed)
    session.stop()


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made: list[Path] = prepare(EVENTS, tmp_path_factory.mktemp("nexmark"))
    return made


@pytest.mark.whole
@pytest.mark.parametrize("name", QUERIES)
def test_a_stream_has_the_rows_of_a_batch(name: str, batches: list[Path], spark: SparkSession, tmp_path: Path) -> None:
    query = QUERIES[name]
    found: list[Row] = []
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES_A_BATCH)
    events = source.option("recursiveFileLookup", "true").parquet(str(batches[0].parent))
    writer: Any = results(name, query, events).writeStream.outputMode(query.mode)
    writer = writer.foreachBatch(lambda rows, batch: found.extend(rows.collect()))
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    writer.start().awaitTermination()
    # Without the batch that only ends the others.
    whole = spark.read.schema(SCHEMA).parquet(*map(str, batches[:-1]))
    expected = results(name, query, whole).collect()
    assert expected
    if query.keys:
        wanted = set(_by_key(expected, query.keys))
        assert {key: row for key, row in _by_key(found, query.keys).items() if key in wanted} == _by_key(
            expected, query.keys
        )
    else:
        assert Counter(map(str, found)) == Counter(map(str, expected))


def _by_key(rows: list[Row], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Row]:
    return {tuple(row[key] for key in keys): row for row in rows}


def test_kinds_are_in_their_proportion() -> None:
    tables = list(NexmarkEvents(rows=IN_ALL * 10, batches=2).tables())
    kinds = Counter(kind for table in tables for kind in table["kind"].to_pylist())
    assert kinds == {0: 20, 1: 60, 2: 920}


def test_bids_are_for_auctions_and_by_people_that_are_there_or_come_soon() -> None:
    (table,) = NexmarkEvents(rows=IN_ALL * 100, batches=1).tables()
    people, auctions = 0, 0
    for row in _rows(table):
        if row["kind"] == 0:
            people = row["id"]
        elif row["kind"] == 1:
            auctions = row["id"]
            assert 1_000 <= row["seller"] <= people + 10
        else:
            assert 1_000 <= row["auction"] <= auctions + 10
            assert 1_000 <= row["bidder"] <= people + 10


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    yield from table.to_pylist()
