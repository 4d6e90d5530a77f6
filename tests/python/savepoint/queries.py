"""A query for each stateful operator, fed with one small file a batch, and what its state and output are."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

import snapline
from snapline.savepoint import read_state
from snapline.savepoint.state import find_state

from .functions import RESULT, Kept, Processor, with_state

START = 1_700_000_000
Query = Callable[[DataFrame], DataFrame]


def join(rows: DataFrame) -> DataFrame:
    left = rows.select("t", "k", "v")
    right = rows.where("v % 3 != 0").select(F.col("t").alias("t2"), F.col("k").alias("k2"), F.col("v").alias("v2"))
    near = F.expr("k = k2 AND v % 7 = v2 % 7 AND t2 BETWEEN t - INTERVAL 1 MINUTE AND t + INTERVAL 1 MINUTE")
    return left.join(right, near, "left_outer")


def sessions(rows: DataFrame) -> DataFrame:
    return rows.groupBy(F.session_window("t", "30 seconds"), "k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))


def sums(rows: DataFrame) -> DataFrame:
    """Two sums: their columns in the state have one name."""
    return rows.groupBy("k", "name").agg(F.sum("v"), F.sum(F.col("v") * 2), F.avg("v"), F.max("t"))


def twice(rows: DataFrame) -> DataFrame:
    """Two operators, one after the other."""
    return rows.dropDuplicates(["k", "v"]).groupBy(F.window("t", "1 minute"), "k").count()


def keyed(rows: DataFrame) -> DataFrame:
    return snapline.key_by(rows, "k").order_by("v").process(Kept(), RESULT)


QUERIES: dict[str, tuple[str, Query]] = {
    "aggregation": ("update", sums),
    "no-key": ("update", lambda rows: rows.agg(F.sum("v"), F.count("*"))),
    "dedup": ("append", lambda rows: rows.dropDuplicates(["k", "v"])),
    "dedup-watermark": ("append", lambda rows: rows.dropDuplicatesWithinWatermark(["k", "name"])),
    "join": ("append", join),
    "sessions": ("append", sessions),
    "two-operators": ("append", twice),
    "limit": ("append", lambda rows: rows.limit(200)),
    "pandas-with-state": (
        "update",
        lambda rows: rows.groupBy("k").applyInPandasWithState(
            with_state, RESULT, "total long, n long", "update", "EventTimeTimeout"
        ),
    ),
    "transform-with-state": (
        "update",
        lambda rows: rows.groupBy("k").transformWithState(Processor(), RESULT, "Update", "EventTime"),
    ),
    "keyed-function": ("append", keyed),
}


class StatefulQuery:
    """One of them, in a folder with ``input``. Any number of checkpoint folders may be run over the input."""

    def __init__(self, session: SparkSession, work: Path, name: str) -> None:
        self.session = session
        self.work = work
        self.mode, self._query = QUERIES[name]

    def add_input(self, batches: Iterable[int]) -> None:
        """One file for each: sixty rows of twenty-three keys, forty seconds after those before."""
        for batch in batches:
            rows = [self._row(batch, place) for place in range(60)]
            path = self.work / "input" / f"{batch:03}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            # The file source goes by the time of change.
            os.utime(path, (START + batch, START + batch))

    def _row(self, batch: int, place: int) -> dict[str, object]:
        key = (batch * 31 + place * 7) % 23
        time = START + batch * 40 + place
        return {"t": time, "k": key, "v": batch * 17 + place // 2, "name": None if key % 5 == 0 else f"name {key % 4}"}

    def rows(self) -> DataFrame:
        """With a watermark: there are batches without rows, too."""
        return self.plain_rows().withWatermark("t", "1 minute")

    def plain_rows(self) -> DataFrame:
        reader = self.session.readStream.schema("t long, k long, v long, name string").option("maxFilesPerTrigger", 1)
        return reader.json(str(self.work / "input")).withColumn("t", F.timestamp_seconds("t"))

    def run(self, checkpoint: str, partitions: int = 2) -> None:
        """Takes in all that is there. The output goes to a file for each batch, beside the checkpoint."""
        self.session.conf.set("spark.sql.shuffle.partitions", str(partitions))
        self.writer(checkpoint).trigger(availableNow=True).start().awaitTermination()

    def writer(self, checkpoint: str) -> DataStreamWriter:
        """To start it by other means."""
        output = self.work / f"{checkpoint}-output"
        output.mkdir(exist_ok=True)

        def keep(batch: DataFrame, number: int) -> None:
            rows = sorted(row.asDict(recursive=True).__repr__() for row in batch.collect())
            (output / f"{number:03}").write_text("\n".join(rows))

        writer = self._query(self.rows()).writeStream.outputMode(self.mode).foreachBatch(keep)
        return writer.option("checkpointLocation", str(self.work / checkpoint))

    def output(self, checkpoint: str, since: int = 0) -> list[str]:
        """All rows of the batches from one on, in order."""
        folder = self.work / f"{checkpoint}-output"
        return sorted(
            row for file in folder.iterdir() if int(file.name) >= since for row in file.read_text().split("\n")
        )

    def state(self, checkpoint: str) -> dict[str, tuple[int, str]]:
        """Of every state: how many entries, and the hash over them in order."""
        path = str(self.work / checkpoint)
        found = find_state(self.session, path)
        result = {}
        for operator in found.operators:
            for key in operator.states:
                table = read_state(path, operator.id, key.name, session=self.session)
                rows = sorted(map(repr, table.select("key_group", "key", "value").collect()))
                digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()
                result[key.folder] = (len(rows), digest)
        return result
