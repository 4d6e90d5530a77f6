"""Queries from files, and their sinks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def give(folder: Path, name: str, rows: Iterable[tuple[int, int]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text("".join(json.dumps({"k": k, "v": v}) + "\n" for k, v in rows))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    """A file a batch."""
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema("k int, v long").option("maxFilesPerTrigger", 1).json(str(folder))


def run(writer: Any) -> Any:
    """All that is there."""
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def forget_commit(checkpoint: Path, batch: int) -> None:
    """As a driver leaves the folder that dies before the batch is committed."""
    for path in (checkpoint / "commits").glob(f"*{batch}*"):
        path.unlink()
