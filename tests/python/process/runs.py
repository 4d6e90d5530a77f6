"""Queries over files, a micro-batch for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[Any, ...]]


class FileQuery:
    """A query over folders of files; each added row makes a file, so that rows fall into partitions in order."""

    def __init__(self, spark: SparkSession, folder: Path, plan: Callable[..., DataFrame], **schemas: str) -> None:
        self.spark = spark
        self.folder = folder
        self.checkpoint = folder / "checkpoint"
        self.schemas = schemas
        self._plan = plan
        self.out: Rows = []
        for name in schemas:
            (folder / name).mkdir(exist_ok=True)

    def add(self, name: str, rows: list[Any], files: int = 1) -> None:
        """Rows of a later micro-batch of the source."""
        frame = self.spark.createDataFrame(rows, self.schemas[name]).repartitionByRange(files, "v")
        frame.coalesce(files).write.mode("append").parquet(str(self.folder / name))

    @contextmanager
    def running(self, checkpoint: Path | None = None) -> Iterator[Any]:
        sources = [
            self.spark.readStream.schema(schema).parquet(str(self.folder / name))
            for name, schema in self.schemas.items()
        ]

        def collect(batch: DataFrame, _: int) -> None:
            self.out.extend(tuple(row) for row in batch.collect())

        location = str(checkpoint or self.checkpoint)
        query = (
            self._plan(*sources)
            .writeStream.outputMode("update")
            .option("checkpointLocation", location)
            .foreachBatch(collect)
            .start()
        )
        try:
            yield query
        finally:
            query.stop()

    def run(self, checkpoint: Path | None = None) -> Rows:
        """Starts the query, has it take what there is, and stops it; what it put out."""
        self.out = []
        with self.running(checkpoint) as query:
            query.processAllAvailable()
        return self.out
