"""Every mode of checkpoints with every backend and kind of operator: it goes on over a restart, or is refused."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline.errors import InvalidConfiguration

FILES = 3
ROWS = 60
KEYS = 7
INTERVAL = timedelta(hours=1)
MODES = {
    "every batch": snapline.CheckpointConfig(),
    "exactly once": snapline.CheckpointConfig(interval=INTERVAL),
    "unaligned": snapline.CheckpointConfig(
        interval=INTERVAL, unaligned=True, aligned_checkpoint_timeout=timedelta(milliseconds=20)
    ),
    "unaligned, every batch": snapline.CheckpointConfig(
        unaligned=True, aligned_checkpoint_timeout=timedelta(milliseconds=20)
    ),
    "at least once": snapline.CheckpointConfig(interval=INTERVAL, mode="AT_LEAST_ONCE"),
}
BACKENDS = {
    "rocksdb": snapline.EmbeddedRocksDBStateBackend(),
    "hashmap": snapline.HashMapStateBackend(),
    "hashmap, nested": snapline.HashMapStateBackend(async_snapshots=False),
}


class Keyed(snapline.KeyedProcessFunction):
    """Numbers the rows of a key."""

    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        time.sleep(0.001)
        self.n.update((self.n.value() or 0) + 1)
        yield row.key, self.n.value()


class Plain(snapline.ProcessFunction, snapline.CheckpointedFunction):
    """Numbers the rows of a key in operator state: the key's rows are all in one partition."""

    def initialize_state(self, ctx: Any) -> None:
        self.state = ctx.get_operator_state_store().get_list_state(
            snapline.ListStateDescriptor("counts", "struct<key: long, n: long>")
        )
        self.counts = {row.key: row.n for row in self.state.get()}

    def snapshot_state(self, ctx: Any) -> None:
        self.state.update(list(self.counts.items()))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[object, ...]]:
        time.sleep(0.001)
        self.counts[row.key] = self.counts.get(row.key, 0) + 1
        yield row.key, self.counts[row.key]


def numbered(kind: str, rows: DataFrame) -> DataFrame:
    if kind == "keyed":
        return snapline.key_by(rows, "key").process(Keyed(), "key long, n long")
    if kind == "non-keyed":
        return snapline.process(rows.repartition(2, "key"), Plain(), "key long, n long")
    return rows.groupBy("key").agg(F.count("*").alias("n"))


def add(folder: Path, files: int) -> None:
    folder.mkdir(exist_ok=True)
    for _ in range(files):
        number = len(list(folder.iterdir()))
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"key": [n % KEYS for n in range(ROWS)]}), path)
        os.utime(path, (1_700_000_000 + number,) * 2)


@pytest.mark.parametrize("kind", ["keyed", "non-keyed", "built-in"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mode", MODES)
def test_goes_on_over_a_restart(spark: SparkSession, tmp_path: Path, mode: str, backend: str, kind: str) -> None:
    seen: dict[int, int] = {}

    def keep(batch: DataFrame, number: int) -> None:
        for row in batch.collect():
            seen[row.key] = max(row.n, seen.get(row.key, 0))

    def run(config: snapline.CheckpointConfig) -> None:
        rows = spark.readStream.schema("key long").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        writer = numbered(kind, rows).writeStream.outputMode("update").foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        snapline.start(writer, config, state_backend=BACKENDS[backend]).awaitTermination()

    add(tmp_path / "in", FILES)
    if mode.startswith("unaligned") and kind == "built-in":
        with pytest.raises(InvalidConfiguration, match=r"Aggregate.* takes the time for all rows"):
            run(MODES[mode])
        assert not (tmp_path / "checkpoint").exists()
        return
    for _ in range(2):
        run(MODES[mode])
        add(tmp_path / "in", FILES)
    run(snapline.CheckpointConfig())
    files = 3 * FILES
    assert seen == {key: files * sum(n % KEYS == key for n in range(ROWS)) for key in range(KEYS)}
