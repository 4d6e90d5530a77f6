"""A Delta table as the sink: it passes over a batch that it has, by the query's id and the number of the batch."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
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


# A process of its own: which jars there are is said when Spark starts.
STATIC_SIDES = """
import sys
import snapline
from pyspark.sql import SparkSession
from snapline.query import find_obstacles

jars, table = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.jars", jars).config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
builder = builder.config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
spark = snapline.configure(builder).getOrCreate()
spark.range(5).write.format("delta").save(table)
rows = spark.readStream.format("rate").load()
for side in (
    spark.read.format("delta").load(table),
    spark.sql(f"SELECT * FROM delta.`{table}`"),
    spark.read.format("delta").option("versionAsOf", 0).load(table),
    spark.read.format("delta").load(f"{table}@v0"),
    spark.sql(f"SELECT * FROM delta.`{table}` VERSION AS OF 0"),
):
    joined = rows.join(side, rows.value == side.id).groupBy("id").count()
    print("found", [obstacle.found for obstacle in find_obstacles(joined)])
"""


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


def test_a_version_of_a_table_can_be_replayed(jars: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", STATIC_SIDES, ",".join(jars), str(tmp_path / "table")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [line for line in ended.stdout.splitlines() if line.startswith("found ")]
    assert [line == "found []" for line in found] == [False, False, True, True, True]
    assert all("is a static side" in line for line in found[:2])


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


@pytest.mark.parametrize("interval", [None, 1.0])
def test_a_batch_below_once_is_there_once(
    jars: list[str], tmp_path: Path, interval: float | None, tally: Tally
) -> None:
    table, markers = tmp_path / "table", tmp_path / "markers"
    lives = lives_into(tally, tmp_path, jars, interval, 2)
    options = {"table": str(table), "markers": str(markers), "dies_in": "3"}
    lives.orders = replace(lives.orders, sink="delta-once", sink_options=options)
    with lives.start() as life:
        assert life.wait() != 0
    assert (markers / "died").exists(), "the process has not died between Delta's commit and the marker"
    tally.kills += 1
    lives.faults += 1
    lives.kill_one(3)
    lives.end()
    lives.check(rows_of(table))
