from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig, SupervisedQuery

from ..spark_jar import need_jar
from .chains import FILES, Chains
from .real_query import make_session, wait_for

Ticking = Callable[[CheckpointConfig], SupervisedQuery]


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    need_jar()
    session = make_session()
    yield session
    session.stop()


@pytest.fixture
def ticking(spark: SparkSession, tmp_path: Path) -> Iterator[Ticking]:
    """Starts a query that has a batch all the time, and has taken its first checkpoint."""
    started: list[SupervisedQuery] = []

    def start(config: CheckpointConfig) -> SupervisedQuery:
        ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        counts = ticks.selectExpr("value % 3 AS key").groupBy("key").count()
        writer = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="100 milliseconds")
        running = snapline.start(writer.option("checkpointLocation", str(tmp_path / "checkpoint")), config)
        started.append(running)
        wait_for(lambda: running.checkpoints()["counts"]["completed"] >= 1)
        return running

    yield start
    for running in started:
        running.stop()


@pytest.fixture(scope="package")
def aligned(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    query = Chains(spark, tmp_path_factory.mktemp("aligned"), 0)
    query.add_input(0, FILES)
    query.run(CheckpointConfig())
    rows = query.rows_out()
    # Rows, late ones that were dropped, and timers that fired.
    assert {kind for _, kind, *_ in rows} == {"row", "timer"}
    return rows


@pytest.fixture
def slow(spark: SparkSession, tmp_path: Path) -> Chains:
    query = Chains(spark, tmp_path, 0.004)
    query.add_input(0, FILES)
    return query
