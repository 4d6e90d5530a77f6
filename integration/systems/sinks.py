"""Sinks that have each batch once, by its number: what foreachBatch is for."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import snapline

Write = Callable[[DataFrame, int], None]


def write_batch_file(folder: Path) -> Write:
    """A file for each batch. One that comes again must be the same: `conflicts` lists those that were not."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(batch: DataFrame, number: int) -> None:
        rows = json.dumps(sorted(list(row) for row in batch.collect()))
        path = folder / f"{number:05}.json"
        if path.exists():
            if path.read_text() != rows:
                path.with_suffix(".conflict").write_text(rows)
            return
        path.with_suffix(".part").write_text(rows)
        path.with_suffix(".part").replace(path)

    return write


def write_to_delta_once(session: SparkSession, options: Mapping[str, str]) -> Write:
    """A Delta table that passes over a batch by its number, below `snapline.once`. The process dies in the batch
    `dies_in`, between Delta's commit and the marker, if there is none of that yet."""
    once = snapline.once(session, options["markers"])
    table, dies_in = options["table"], int(options.get("dies_in", -1))

    @once
    def write(batch: DataFrame, number: int) -> None:
        rows = batch.persist()
        rows.count()  # Delta computes no batch that it has
        rows.write.format("delta").mode("append").options(**once.delta_options(batch, number)).save(table)
        rows.unpersist()
        died = Path(options["markers"]) / "died"
        if number == dies_in and not died.exists():
            died.parent.mkdir(exist_ok=True)
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return write


def read_batch_files(folder: Path) -> list[tuple[int, ...]]:
    """All rows, in order of `seq`."""
    conflicts = sorted(folder.glob("*.conflict"))
    assert not conflicts, f"other rows when they came again: {conflicts}"
    rows = [tuple(row) for path in folder.glob("*.json") for row in json.loads(path.read_text())]
    return sorted(rows, key=lambda row: row[1])


def write_to_postgres(options: Mapping[str, str]) -> Write:
    """The executors write the batch into a table of its own; one transaction moves it, if its number is new.

    Spark demands of foreachBatch that the batch is computed, also one that is there already.
    """
    import pg8000.native

    port, table = int(options["port"]), options["table"]
    url = f"jdbc:postgresql://127.0.0.1:{port}/postgres"
    jdbc = {"user": "postgres", "driver": "org.postgresql.Driver"}

    def write(batch: DataFrame, number: int) -> None:
        staging = f"{table}_staging"
        batch.write.mode("overwrite").jdbc(url, staging, properties=jdbc)
        db: Any = pg8000.native.Connection("postgres", host="127.0.0.1", port=port, database="postgres", timeout=20)
        try:
            db.run("begin")
            db.run(f"insert into {table}_batches values (:id) on conflict do nothing", id=number)
            if db.row_count == 1:
                db.run(f"insert into {table} select *, {number} from {staging}")
            db.run("commit")
        finally:
            db.close()

    return write
