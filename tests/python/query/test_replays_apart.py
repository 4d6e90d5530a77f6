"""What replays leave in the session and in the folder of the query that they are for."""

from __future__ import annotations

import json
import logging
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

import snapline
from snapline import CheckpointConfig, ListStateDescriptor, ValueStateDescriptor, key_by
from snapline.functions import Context, KeyedProcessFunction, RuntimeContext
from snapline.query import Recovery
from snapline.recovery.replay import BatchReplay
from snapline.savepoint import read_state

from .real_query import wait_for

# A checkpoint is taken at the first barrier of each run.
INTERVAL = CheckpointConfig(interval=timedelta(hours=1))
RETAIN = "spark.sql.streaming.minBatchesToRetain"


class Count(KeyedProcessFunction):
    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", "long"))

    def process_element(self, value: Any, ctx: Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield (value.key, self.count.value())


class Moments(KeyedProcessFunction):
    """Keeps the time at which each row of a key was processed."""

    def open(self, context: RuntimeContext) -> None:
        self.moments = context.get_list_state(ListStateDescriptor("moments", "long"))

    def process_element(self, value: Any, ctx: Context) -> Any:
        self.moments.add(ctx.timer_service().current_processing_time())
        yield (value.key, 0)


class Heard(StreamingQueryListener):
    def __init__(self) -> None:
        self.started: list[str] = []
        self.batches: list[int] = []
        self.ended: list[str] = []

    def onQueryStarted(self, event: Any) -> None:
        self.started.append(str(event.runId))

    def onQueryProgress(self, event: Any) -> None:
        if event.progress.numInputRows:
            self.batches.append(event.progress.batchId)

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None:
        self.ended.append(str(event.runId))


class Counting:
    """Counts the rows of a key, a file of them in a batch; every run but the first replays three batches."""

    def __init__(self, session: SparkSession, work: Path, function: KeyedProcessFunction | None = None) -> None:
        self.session = session
        self.work = work
        self.function = function or Count()
        self.checkpoint = work / "checkpoint"
        self.files = 0

    def add_input(self) -> None:
        (self.work / "input").mkdir(exist_ok=True)
        for number in range(self.files, self.files + 4):
            path = self.work / f"input/{number:03}.json"
            path.write_text(json.dumps({"key": number % 2}))
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        self.files += 4

    def writer(self) -> Any:
        rows = self.session.readStream.schema("key int").option("maxFilesPerTrigger", 1)
        counts = key_by(rows.json(str(self.work / "input")), "key").process(self.function, "key int, count long")
        writer = counts.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        return writer.outputMode("append")

    def run(self) -> Any:
        self.add_input()
        query = snapline.start(self.writer(), INTERVAL, path=str(self.work / "output"))
        query.processAllAvailable()
        query.stop()
        return query

    def settle(self) -> None:
        """Makes the state durable up to the newest batch."""
        query = snapline.start(self.writer(), CheckpointConfig(), path=str(self.work / "output"))
        query.processAllAvailable()
        query.stop()

    def state(self) -> dict[int, int]:
        rows = read_state(str(self.checkpoint), state="count", session=self.session).collect()
        return {row.key[0]: row.value[0] for row in rows}

    def time_of(self, batch: int) -> int:
        """By the log, in ms."""
        _, metadata, *_ = (self.checkpoint / f"offsets/{batch}").read_text().splitlines()
        return int(json.loads(metadata)["batchTimestampMs"])

    def batches(self, folder: str) -> list[int]:
        names = (path.name for path in (self.checkpoint / folder).iterdir())
        return sorted(int(name) for name in names if name.isdigit())


@pytest.fixture
def counting(spark: SparkSession, tmp_path: Path) -> Counting:
    counting = Counting(spark, tmp_path)
    counting.run()
    return counting


def test_listeners_of_the_session_do_not_hear_of_them(counting: Counting) -> None:
    streams, heard = counting.session.streams, Heard()
    streams.addListener(heard)
    try:
        streams.resetTerminated()
        query = counting.run()
        assert query.recovery.replayed == range(1, 4)
        wait_for(lambda: str(query.runId) in heard.ended)
    finally:
        streams.removeListener(heard)
    assert heard.started == [str(query.runId)]
    assert heard.batches == [4, 5, 6, 7]
    assert heard.ended == heard.started


def test_all_batches_of_a_recovery_are_of_one_run(counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []
    start = BatchReplay._start

    def count(self: BatchReplay) -> Any:
        starts.append(self)
        return start(self)

    monkeypatch.setattr(BatchReplay, "_start", count)
    assert len(counting.run().recovery.replayed) == 3
    assert len(starts) == 1
    counting.settle()
    assert counting.state() == {0: 4, 1: 4}


def test_each_batch_has_the_time_that_the_log_has_for_it(spark: SparkSession, tmp_path: Path) -> None:
    moments = Counting(spark, tmp_path, Moments())
    logged = []
    for first in (0, 4):
        moments.run()
        logged += [moments.time_of(batch) for batch in range(first, first + 4)]
    moments.settle()
    kept = read_state(str(moments.checkpoint), state="moments", session=spark).collect()
    times = {row.key[0]: [each[0] for each in row.value] for row in kept}
    assert times == {key: logged[key::2] for key in (0, 1)}
    assert len(set(logged)) == 8


def test_the_session_has_no_settings_of_theirs_meanwhile(counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    conf, seen = counting.session.conf, []

    check = Recovery._check_run

    def look(self: Recovery, batch: int) -> None:
        seen.append((batch, conf.get(RETAIN), len(counting.session.streams.active)))
        check(self, batch)

    monkeypatch.setattr(Recovery, "_check_run", look)
    counting.run()
    assert seen == [(batch, conf.get(RETAIN), 0) for batch in (1, 2, 3)]
    assert conf.get(RETAIN) == "100"


def test_files_about_operators_do_not_pile_up(counting: Counting) -> None:
    for _ in range(3):
        assert len(counting.run().recovery.replayed) == 3
    # What the first batch of the last run says of operators, beside that of the very first.
    assert counting.batches("state/0/_metadata/v2") == [0, 12]
    schemas = [path for path in (counting.checkpoint / "state/0/_stateSchema/default").iterdir() if path.name[0] != "."]
    assert len(schemas) == 1
    counting.settle()
    assert counting.state() == {0: 8, 1: 8}
    assert counting.session.read.parquet(str(counting.work / "output")).count() == 16


def test_a_plain_query_that_starts_at_the_same_moment_is_named(
    counting: Counting, caplog: pytest.LogCaptureFixture
) -> None:
    ticks = counting.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    plain = ticks.writeStream.format("noop").option("checkpointLocation", str(counting.work / "plain"))
    writer, started = counting.writer(), []
    start = writer.start

    def both(path: str | None = None) -> Any:
        started.append(plain.start())
        return start(path)

    writer.start = both
    try:
        with caplog.at_level(logging.WARNING, "snapline.query.runs"):
            snapline.start(writer, INTERVAL, path=str(counting.work / "output")).stop()
    finally:
        for query in started:
            query.stop()
    (record,) = (record for record in caplog.records if record.name == "snapline.query.runs")
    assert f"The query {started[0].id} was started at the same moment" in record.getMessage()
