"""A query with checkpoints and savepoints, of which a test looks at the files: `python -m integration.permissions.job`.

FOLDER [UMASK-MODE]. It goes on until its standard input ends, so that there is working state to look at; `ready` says
that all is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig


class Count(snapline.KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(snapline.ValueStateDescriptor("n", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        self.n.update((self.n.value() or 0) + 1)
        yield row.k, self.n.value()


def main(folder: Path, mode: str | None) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "WARN",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        **({} if mode is None else {"spark.hadoop.fs.permissions.umask-mode": mode}),
    }
    builder = SparkSession.builder.master("local[2]").appName("permissions")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    rows = session.readStream.schema("k int").option("maxFilesPerTrigger", 1).json(str(folder / "input"))
    counts = snapline.key_by(rows, "k").process(Count(), "k int, n long")
    writer = counts.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))

    def start(merging: bool) -> snapline.SupervisedQuery:
        config = CheckpointConfig(
            interval=timedelta(hours=1), data_inline_threshold=0, num_retained=3, file_merging=merging
        )
        query = snapline.start(writer, config)
        query.processAllAvailable()
        return query

    # The first batch of each start is a checkpoint's; those behind it are replayed by the next one.
    start(merging=False).stop()
    write(folder, 3)
    start(merging=False).stop()
    write(folder, 4)
    query = start(merging=True)
    for number, format in enumerate(("canonical", "native"), 5):
        write(folder, number)
        query.savepoint(str(folder / format), timeout=300, format=format)
    print("ready", flush=True)
    sys.stdin.read()
    query.stop()


def write(folder: Path, number: int) -> None:
    (folder / "input" / f"{number}.json").write_text('{"k": 1}\n{"k": 2}\n{"k": 3}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
