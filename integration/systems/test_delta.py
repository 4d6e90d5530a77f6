"""A Delta table as the sink: it passes over a batch that it has, by the query's id and the number of the batch."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ..drill.tally import Tally
from .artifacts import SCALA, jar
from .files_query import make_lives
from .life import Lives

VERSION = "4.4.0"
MODES = [
    pytest.param(None, 1, id="every-batch-1"),
    pytest.param(1.0, 1, id="interval-1"),
    pytest.param(1.0, 2, id="interval-2"),
]


@pytest.fixture(scope="module")
def jars() -> list[str]:
    return [
        str(jar(f"io.delta:delta-spark_4.2_{SCALA}:{VERSION}")),
        str(jar(f"io.delta:delta-storage:{VERSION}")),
    ]


def rows_of(table: Path) -> list[tuple[int, ...]]:
    """By its log alone."""
    files: set[str] = set()
    for entry in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        files |= {action["add"]["path"] for action in actions if "add" in action}
        files -= {action["remove"]["path"] for action in actions if "remove" in action}
    rows = [row for name in files for row in pq.read_table(table / name).to_pylist()]
    return sorted((tuple(row.values()) for row in rows), key=lambda row: row[1])


def newest_noted(table: Path) -> int:
    """Batch of the query that wrote it."""
    entries = [
        json.loads(line) for path in (table / "_delta_log").glob("*.json") for line in path.read_text().splitlines()
    ]
    return max(int(entry["txn"]["version"]) for entry in entries if "txn" in entry)


def lives_into(tally: Tally, folder: Path, jars: list[str], interval: float | None, version: int) -> Lives:
    return make_lives(
        tally,
        folder,
        str(folder / "checkpoint"),
        source_options={"path": str(folder / "input"), "maxFilesPerTrigger": "3"},  # its commits take long
        sink="delta",
        sink_options={"path": str(folder / "table")},
        jars=jars,
        interval=interval,
        format=version,
        conf={
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
    )


def newest(lives: Lives, log: str) -> int:
    folder = Path(lives.orders.checkpoint) / log
    return max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=-1)


@pytest.mark.parametrize(("interval", "version"), MODES)
def test_killed_drivers(jars: list[str], tmp_path: Path, interval: float | None, version: int, tally: Tally) -> None:
    lives = lives_into(tally, tmp_path, jars, interval, version)
    for batches in (2, 1, 2):
        lives.kill_one(batches)
    lives.end()
    lives.check(rows_of(tmp_path / "table"))


@pytest.mark.parametrize("interval", [None, 3600])
def test_a_driver_that_dies_between_the_commit_of_delta_and_that_of_spark(
    jars: list[str], tmp_path: Path, interval: float | None, tally: Tally
) -> None:
    """In format 2, where Spark by itself does not start again: the commit has to name states that no task reported."""
    lives = lives_into(tally, tmp_path, jars, interval, 2)
    lives.kill_one(2)
    # What such a death leaves: the newest batch of the table is planned, and not committed.
    batch = newest_noted(tmp_path / "table")
    for log, first in (("commits", batch), ("offsets", batch + 1)):
        for number in range(first, newest(lives, log) + 1):
            for name in (str(number), f".{number}.crc"):
                (Path(lives.orders.checkpoint) / log / name).unlink(missing_ok=True)
    lives.end()
    lives.check(rows_of(tmp_path / "table"))
