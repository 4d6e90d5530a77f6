"""AT_LEAST_ONCE on Spark itself: what is refused, what is said, and what counts twice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.format import Kind
from snapline.format.frame import FrameReader, write_meta_frame
from snapline.format.source import BytesSource
from snapline.inspect import CheckpointFolder, verify
from snapline.plan.plan_checks import check_at_least_once
from snapline.savepoint import create_savepoint

from .real_query import RealQuery

AT_LEAST_ONCE = CheckpointConfig(mode="AT_LEAST_ONCE", interval=timedelta(hours=1), num_retained=2)


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> RealQuery:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, 3)
    return query


def run(query: RealQuery, config: CheckpointConfig) -> snapline.SupervisedQuery:
    totals = query.rows("input", "30 seconds").groupBy("key").agg({"value": "count"})
    writer = totals.writeStream.format("noop").outputMode("update").trigger(availableNow=True)
    running = snapline.start(writer.option("checkpointLocation", str(query.checkpoint)), config)
    running.awaitTermination()
    return running


def counts(query: RealQuery) -> dict[int, int]:
    state = snapline.read_state(str(query.checkpoint), session=query.session)
    return {row[0]: row[1] for row in state.select("key.key", "value.count").collect()}


def forget(query: RealQuery, number: int) -> None:
    """As if the query had been killed before that checkpoint was complete."""
    (query.checkpoint / "snapline" / f"chk-{number}" / "_metadata").unlink()


def put_ahead(query: RealQuery, number: int, batch: int) -> None:
    """Makes a checkpoint one of an earlier batch: its snapshots are ahead then."""
    path = query.checkpoint / "snapline" / f"chk-{number}" / "_metadata"
    meta = json.loads(FrameReader(BytesSource(path.read_bytes(), str(path)), Kind.CHECKPOINT).meta)
    meta["batch"] = batch
    for member, log in (("offsets", "offsets"), ("commit", "commits")):
        meta[member] = (query.checkpoint / log / str(batch)).read_text()
    path.write_bytes(write_meta_frame(Kind.CHECKPOINT, json.dumps(meta).encode()))


def test_a_limit_is_refused_before_anything_is_written(query: RealQuery) -> None:
    writer = query.rows("input", "30 seconds").limit(5).writeStream.format("noop")
    with pytest.raises(InvalidConfiguration, match=r"AT_LEAST_ONCE does not fit this query: its limit\(\)"):
        snapline.start(writer.option("checkpointLocation", str(query.checkpoint)), AT_LEAST_ONCE)
    assert not query.checkpoint.exists()


class Unwritten(snapline.TransactionalSink):
    """Never opened."""

    def open(self, partition: snapline.SinkPartition) -> None: ...

    def last_marker(self) -> snapline.Marker | None: ...

    def begin(self) -> None: ...

    def write(self, rows: pa.RecordBatch) -> None: ...

    def commit(self, marker: snapline.Marker) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("kind", ["jdbc", "own"])
def test_a_sink_that_compares_rows_is_refused_before_anything_is_written(query: RealQuery, kind: str) -> None:
    rows = query.rows("input", "30 seconds").groupBy("key").count().writeStream.outputMode("update")
    sinks = snapline.exactly_once(rows.option("checkpointLocation", str(query.checkpoint)))
    writer = sinks.jdbc("jdbc:sqlite:", "totals", keys=["key"]) if kind == "jdbc" else sinks.to(Unwritten())
    with pytest.raises(InvalidConfiguration, match="AT_LEAST_ONCE does not fit an exactly-once sink"):
        snapline.start(writer, AT_LEAST_ONCE)
    assert not query.checkpoint.exists()


def test_a_sink_that_only_warns_of_other_rows_is_taken(query: RealQuery) -> None:
    rows = query.rows("input", "30 seconds").groupBy("key").count().writeStream.outputMode("update")
    check_at_least_once(snapline.exactly_once(rows).jdbc("jdbc:sqlite:", "totals", difference="warn"))


def test_where_nothing_was_ahead_a_recovery_is_exact_and_says_so(query: RealQuery) -> None:
    assert run(query, AT_LEAST_ONCE).recovery is None
    # Of the first batch, and of the last.
    forget(query, 2)
    query.add_input(3, 5)
    report = run(query, AT_LEAST_ONCE).recovery
    assert report is not None
    assert (report.checkpoint, report.batch, report.ahead, report.rows_twice) == (1, 0, 0, 0)
    assert list(report.replayed)[:2] == [1, 2]
    run(query, CheckpointConfig())
    assert counts(query) == {0: 35, 1: 35, 2: 30}


def test_where_changelogs_are_in_storage_nothing_is_replayed_and_nothing_counts_twice(query: RealQuery) -> None:
    config = replace(AT_LEAST_ONCE, upload_changelogs=True)
    run(query, config)
    forget(query, 2)
    query.add_input(3, 5)
    assert run(query, config).recovery is None
    run(query, CheckpointConfig())
    assert counts(query) == {0: 35, 1: 35, 2: 30}


def test_rows_of_batches_that_snapshots_held_count_twice_and_the_start_says_how_many(query: RealQuery) -> None:
    run(query, AT_LEAST_ONCE)
    put_ahead(query, 2, batch=0)
    assert verify(CheckpointFolder(query.checkpoint)).findings == ()
    refused = pytest.raises(IncompatibleState, match="AT_LEAST_ONCE: 2 of its 2 snapshots")
    with refused:
        create_savepoint(query.session, str(query.checkpoint), str(query.work / "savepoint"), number=2)
    with refused:
        snapline.read_state(str(query.checkpoint), checkpoint=2, session=query.session)
    assert not (query.work / "savepoint").exists()

    report = run(query, CheckpointConfig()).recovery
    assert report is not None
    # Two files of 20 rows: 7, 7 and 6 of the three keys.
    assert (report.checkpoint, report.ahead, report.stores, report.rows_twice) == (2, 2, 2, 40)
    assert counts(query) == {0: 21 + 14, 1: 21 + 14, 2: 18 + 12}
