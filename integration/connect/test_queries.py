"""Queries under supervision that a client of Spark Connect starts: they run beside the server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from integration.connect import sums
from integration.connect.sums import Sum
from snapline import CheckpointConfig, CheckpointListener, FixedDelayRestart
from snapline.errors import InvalidConfiguration, NotACheckpoint, StateNotFound
from snapline.session import PROVIDER
from tests.python.sink import ledger

cloudpickle.register_pickle_by_value(ledger)
cloudpickle.register_pickle_by_value(sums)
cloudpickle.register_pickle_by_value(sys.modules[__name__])

INTERVAL = CheckpointConfig(interval=timedelta(hours=1))
KEYS, ROWS = 5, 100


class Work:
    """A stream of files, and totals by key."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.files = spark, folder, 0
        self.checkpoint, self.output = folder / "checkpoint", folder / "output"
        (folder / "source").mkdir()

    def add(self, files: int = 1) -> None:
        for _ in range(files):
            first = self.files * ROWS
            rows = self.spark.range(first, first + ROWS, 1, 1).selectExpr(f"id % {KEYS} AS k", "id AS v")
            rows.write.mode("append").parquet(str(self.folder / "source"))
            self.files += 1

    def totals(self) -> DataFrame:
        reader = self.spark.readStream.schema("k long, v long").option("maxFilesPerTrigger", 1)
        rows = reader.parquet(str(self.folder / "source"))
        return snapline.key_by(rows, "k").order_by("v").process(Sum(), "k long, total long", uid="sum")

    def writer(self, checkpoint: Path | None = None) -> Any:
        writer = self.totals().writeStream.format("parquet")
        return writer.option("path", str(self.output)).option("checkpointLocation", str(checkpoint or self.checkpoint))

    def expected(self) -> dict[int, int]:
        return {k: sum(range(k, self.files * ROWS, KEYS)) for k in range(KEYS)}

    def written(self) -> list[tuple[int, int]]:
        """Every row in the sink; each changes a total, so that none is there twice."""
        return sorted(map(tuple, self.spark.read.parquet(str(self.output)).collect()))

    def check_written(self) -> None:
        rows = self.written()
        assert len(rows) == self.files * ROWS == len(set(rows))
        assert {k: max(total for key, total in rows if key == k) for k in range(KEYS)} == self.expected()

    def state(self, path: Path | None = None) -> dict[int, int]:
        table = snapline.read_state(str(path or self.checkpoint), "sum", "total", session=self.spark)
        return dict(map(tuple, table.select("key.k", "value.value").collect()))


@pytest.fixture
def work(spark: SparkSession, tmp_path: Path) -> Work:
    return Work(spark, tmp_path)


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def test_a_life_of_a_query(work: Work) -> None:
    work.add(3)
    query = snapline.start(work.writer(), INTERVAL, restart=FixedDelayRestart(attempts=1, delay=0.0))
    assert query.isActive
    query.processAllAvailable()
    assert query.lastProgress is not None
    assert query.lastProgress.batchId == 2
    assert [each.batchId for each in query.recentProgress][-1] == 2
    assert query.status["isTriggerActive"] in (True, False)
    number = query.trigger_checkpoint()
    assert query.checkpoints()["latest"]["completed"]["id"] == number
    work.add()
    query.processAllAvailable()
    query.stop()
    assert not query.isActive
    assert query.awaitTermination(1) is True
    assert query.exception() is None
    work.check_written()

    # What follows the checkpoint is run again.
    again = snapline.start(work.writer(), INTERVAL)
    assert again.id == query.id
    assert again.recovery is not None
    assert list(again.recovery.replayed) == [3]
    work.add()
    again.processAllAvailable()
    again.cancel()
    work.check_written()


def test_it_is_started_again_after_a_failure(work: Work) -> None:
    work.add(3)
    flag, output = work.folder / "failed", work.output

    def write(batch: DataFrame, number: int) -> None:
        # Runs beside the server, with a classic DataFrame.
        if number == 1 and not flag.exists():
            flag.touch()
            raise ValueError("the sink is away")
        batch.write.mode("overwrite").parquet(f"{output}/batch={number}")

    told: list[int] = []

    class Tells(CheckpointListener):
        def on_checkpoint_completed(self, checkpoint: Mapping[str, Any]) -> None:
            told.append(checkpoint["id"])

    writer = work.writer().foreachBatch(write)
    strategy = FixedDelayRestart(attempts=3, delay=0.0)
    query = snapline.start(
        writer, CheckpointConfig(interval=timedelta(milliseconds=10)), restart=strategy, listeners=[Tells()]
    )
    wait_for(lambda: (output / "batch=2" / "_SUCCESS").exists())
    query.stop()
    assert query.awaitTermination() is None
    assert query.restarts == 1
    # In this process.
    assert told == sorted(told) != []
    rows = work.spark.read.parquet(str(output))
    assert dict(map(tuple, rows.groupBy("k").agg(F.max("total")).collect())) == work.expected()
    assert rows.count() == 3 * ROWS


def test_a_failure_ends_it_without_a_strategy(work: Work) -> None:
    work.add()

    def write(batch: DataFrame, number: int) -> None:
        raise ValueError("the sink is away")

    query = snapline.start(work.writer().foreachBatch(write), INTERVAL)
    with pytest.raises(StreamingQueryException, match="the sink is away"):
        query.awaitTermination(60)
    assert "the sink is away" in str(query.exception())


def test_foreach_and_triggers(work: Work) -> None:
    work.add(2)
    place = work.folder / "seen"

    def see(row: Any) -> None:
        with place.open("a") as file:
            file.write(f"{row.k} {row.total}\n")

    query = snapline.start(work.writer().foreach(see).trigger(availableNow=True).queryName("named"), INTERVAL)
    assert query.name == "named"
    query.awaitTermination()
    seen = [tuple(map(int, line.split())) for line in place.read_text().splitlines()]
    assert len(seen) == 2 * ROWS
    assert {k: max(total for key, total in seen if key == k) for k in range(KEYS)} == work.expected()


def test_savepoints_and_state(work: Work) -> None:
    work.add(2)
    query = snapline.start(work.writer(), INTERVAL)
    query.processAllAvailable()
    taken = query.savepoint(str(work.folder / "first"))
    assert taken.rows
    assert work.state(work.folder / "first") == work.expected()
    work.add()
    query.processAllAvailable()
    last = query.stop_with_savepoint(str(work.folder / "last"), format="native")
    assert last.batch > taken.batch
    assert work.state() == work.expected()

    # Other folders, on other numbers of partitions.
    made = snapline.create_savepoint(work.spark, str(work.checkpoint), str(work.folder / "made"))
    assert made.query == taken.query
    snapline.restore_savepoint(work.spark, str(work.folder / "made"), str(work.folder / "restored"), parallelism=3)
    assert work.state(work.folder / "restored") == work.expected()
    snapline.rescale_checkpoint(work.spark, str(work.checkpoint), str(work.folder / "rescaled"), parallelism=4)
    assert work.state(work.folder / "rescaled") == work.expected()

    # State of one's own.
    table = snapline.read_state(str(work.folder / "made"), "sum", "total", session=work.spark)
    doubled = table.select("key", F.struct((F.col("value.value") * 2).alias("value")).alias("value"))
    edited = str(work.folder / "edited")
    snapline.write_savepoint(str(work.folder / "made"), edited, {("sum", "total"): doubled}, session=work.spark)
    assert work.state(Path(edited)) == {k: 2 * total for k, total in work.expected().items()}

    # Without keep_query_id, the sink of files begins anew.
    work.output = work.folder / "output from the savepoint"
    work.add()
    begun = snapline.start(work.writer(work.folder / "begun"), INTERVAL, from_savepoint=str(work.folder / "last"))
    begun.processAllAvailable()
    begun.stop_with_savepoint(str(work.folder / "end"))
    assert work.state(work.folder / "end") == work.expected()


def test_a_sink_of_ones_own_has_each_row_once(work: Work) -> None:
    work.add(2)
    database = str(work.folder / "ledger.db")
    sink = ledger.Ledger.made(database)

    def totals() -> Any:
        renamed = work.totals().select(F.col("k").cast("int"), F.col("total").cast("int").alias("v"))
        writer = renamed.writeStream.outputMode("update").option("checkpointLocation", str(work.checkpoint))
        return snapline.exactly_once(writer).to(sink)

    for _ in range(2):
        query = snapline.start(totals(), INTERVAL)
        query.processAllAvailable()
        query.stop()
        work.add()
    with sqlite3.connect(database) as db:
        rows = db.execute("select k, v from ledger").fetchall()
    assert len(rows) == len(set(rows)) == 3 * ROWS

    with pytest.raises(InvalidConfiguration, match="this query may give others"):
        snapline.exactly_once(work.totals().withColumn("at", F.rand()).writeStream)


def test_errors_have_their_code(work: Work) -> None:
    work.add()
    with pytest.raises(StateNotFound, match="checkpoint 99"):
        snapline.start(work.writer(), INTERVAL, restore=99)
    with pytest.raises(InvalidConfiguration, match="both path and table"):
        snapline.start(work.writer(), INTERVAL, path="a", table="b")
    with pytest.raises(NotACheckpoint):
        snapline.read_state(str(work.folder / "nowhere"), session=work.spark)
    with pytest.raises(InvalidConfiguration, match="cannot be sent"):
        snapline.start(work.writer(), INTERVAL, restart=sys.stdout)  # type: ignore[arg-type]


def test_the_python_beside_the_server_dies(work: Work) -> None:
    work.add(2)
    query = snapline.start(work.writer(), INTERVAL)
    query.processAllAvailable()
    (companion,) = companions()
    os.kill(companion, signal.SIGKILL)
    wait_for(lambda: companion not in companions())
    with pytest.raises(StateNotFound, match="has ended"):
        query.checkpoints()
    # Nobody would start it again.
    wait_for(lambda: not work.spark.streams.active)

    work.add()
    again = snapline.start(work.writer(), INTERVAL)
    again.processAllAvailable()
    again.stop()
    work.check_written()


def test_a_session_that_is_closed_stops_its_queries(work: Work) -> None:
    work.add()
    from pyspark.sql.connect.session import SparkSession as ClientSession

    before = set(companions())
    other: Any = ClientSession(f"sc://{work.spark.client._builder.endpoint}")  # type: ignore[attr-defined]
    mine, work.spark = work.spark, other
    other.conf.set("spark.sql.shuffle.partitions", "2")
    other.conf.set("spark.sql.streaming.stateStore.providerClass", mine.conf.get(PROVIDER))
    query = snapline.start(work.writer(), INTERVAL)
    query.processAllAvailable()
    assert len(set(companions()) - before) == 1
    other.client.release_session()
    wait_for(lambda: set(companions()) == before)

    work.spark = mine
    work.add()
    again = snapline.start(work.writer(), INTERVAL)
    again.processAllAvailable()
    again.stop()
    work.check_written()


def companions() -> list[int]:
    """Their process ids."""
    found = subprocess.run(["pgrep", "-f", "snapline.companion"], capture_output=True, text=True).stdout
    return [int(each) for each in found.split()]
