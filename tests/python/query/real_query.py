"""A query with a windowed aggregation, from one small file per batch into a Parquet file sink; and its recovery.

As a script: recovers it, and dies in the middle. Arguments: a folder to work in, the batch of the checkpoint, the batch
that is replayed when it dies.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from snapline.query import CheckpointRef, HadoopFiles, Recovery, SupervisedQuery

from ..spark_session import open_session

START = 1_700_000_000


def make_session(name: str = "recovery", changelogs: int = 3) -> SparkSession:
    """`changelogs`: the fewest between two snapshots."""
    return open_session(name, sql_streaming_stateStore_minDeltasForSnapshot=str(changelogs))


def wait_for(what: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


def take_all_and_stop(running: SupervisedQuery) -> None:
    """As a person stops it: what came after its newest checkpoint is in none."""
    running.processAllAvailable()
    running.stop()


class RealQuery:
    """The query in a folder: ``input``, ``output`` and ``checkpoint``."""

    def __init__(self, session: SparkSession, work: Path) -> None:
        self.session = session
        self.work = work
        self.checkpoint = work / "checkpoint"

    def add_input(self, first: int, last: int) -> None:
        """One file per batch: three keys, 20 seconds of event time a file, and rows that come late."""
        for number in range(first, last):
            self.add_file("input", number, [number * 20 + row - (60 if row == 7 else 0) for row in range(20)])

    def add_file(self, folder: str, number: int, seconds: Sequence[int]) -> None:
        """A row for each of these seconds."""
        rows = [
            {"time": START + second, "key": place % 3, "value": number * 100 + place}
            for place, second in enumerate(seconds)
        ]
        path = self.work / folder / f"{number:03}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # The file source goes by the time of change.
        os.utime(path, (START + number, START + number))

    def rows(self, folder: str, delay: str) -> DataFrame:
        """With a watermark."""
        reader = self.session.readStream.schema("time long, key int, value long").option("maxFilesPerTrigger", 1)
        rows = reader.json(str(self.work / folder)).withColumn("time", F.timestamp_seconds("time"))
        return rows.withWatermark("time", delay)

    def windows(self, rows: DataFrame) -> DataFrame:
        """What is counted."""
        windows = rows.groupBy(F.window("time", "10 seconds"), "key")
        return windows.agg(F.count("*").alias("n"), F.sum("value").alias("sum"))

    def result(self) -> DataFrame:
        return self.windows(self.rows("input", "30 seconds"))

    def go_on(self) -> None:
        """Takes in all that is there, into the real sink."""
        writer = self.result().writeStream.format("parquet").option("path", str(self.work / "output"))
        writer = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()

    def run_batch(self, batch: int) -> None:
        """Into no sink, once."""
        writer = self.result().writeStream.format("noop").option("checkpointLocation", str(self.checkpoint))
        writer.trigger(once=True).start().awaitTermination()

    def recover(self, batch: int, run_batch: Callable[[int], None] | None = None) -> range:
        files = HadoopFiles(self.session, str(self.checkpoint))
        return Recovery(files).run(CheckpointRef(1, batch), run_batch or self.run_batch)

    def lose_state(self, batch: int, *, commits_too: bool) -> None:
        """What interval durability leaves after a crash: no state after the checkpoint, a commit less than offsets."""
        for path in [*self.checkpoint.rglob("*.changelog"), *self.checkpoint.rglob("*.handle")]:
            if int(path.name.partition("_")[0]) > batch + 1:
                path.unlink()
        if commits_too:
            newest = max(self.batches("commits"))
            for name in (str(newest), f".{newest}.crc"):
                (self.checkpoint / "commits" / name).unlink(missing_ok=True)

    def batches(self, log: str) -> list[int]:
        """None before the first: Spark 4.1 makes the folder with it."""
        return sorted(int(path.name) for path in (self.checkpoint / log).glob("*") if path.name.isdigit())

    def log(self, name: str) -> dict[int, bytes]:
        return {batch: (self.checkpoint / name / str(batch)).read_bytes() for batch in self.batches(name)}

    def state(self, batch: int) -> list[tuple[object, ...]]:
        """By Spark's own reader."""
        reader = self.session.read.format("statestore").option("path", str(self.checkpoint))
        rows = reader.option("batchId", batch).load().selectExpr("key.window.start", "key.key", "value.*").collect()
        return sorted(map(tuple, rows), key=repr)

    def output(self) -> list[tuple[object, ...]]:
        rows = self.session.read.parquet(str(self.work / "output")).selectExpr("window.start", "key", "n", "sum")
        return sorted(map(tuple, rows.collect()), key=repr)


def main(work: Path, batch: int, dies_at: int) -> None:
    query = RealQuery(make_session(), work)

    def run_and_die(number: int) -> None:
        query.run_batch(number)
        if number == dies_at:
            os._exit(9)

    query.recover(batch, run_and_die)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
