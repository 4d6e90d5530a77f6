"""Failures as Spark tells them, and which of them say that the folder's own state does not load."""

from __future__ import annotations

import pytest

from snapline.errors import CheckpointDamaged
from snapline.recovery.damaged_load import DamagedLoad, damaged_load


class Told(Exception):
    """As pyspark's: the error of a task is in the stack trace only."""

    def __init__(self, line: str) -> None:
        super().__init__("[STREAM_FAILED] Query terminated with exception")
        self._stackTrace = f"org.apache.spark.SparkException: Job aborted\nCaused by: {line}\n\tat io.snapline.X\n"


def told(folder: str, version: int = 6) -> str:
    return (
        f"io.snapline.error.CheckpointDamaged: [SNAPLINE-DAMAGED] Version {version} of the state in {folder} is "
        f"damaged: {folder}/6_0190c0ff.handle: its checksum is another. Do: restore it."
    )


@pytest.mark.parametrize(
    ("location", "store"),
    [
        ("file:/data/query", "file:/data/query/state/0/1"),
        ("file:///data/query/", "file:/data/query/state/0/1/left-keyToNumValues"),
        ("/data/query", "file:///data/query/state/0/1"),
        ("hdfs://name/query", "hdfs://name:8020/query/state/0/1"),
        ("ftp://user:secret@host/query", "ftp://user:***@host/query/state/0/1"),
        ("abfss://box@account/a b/query", "abfss://box@account/a b/query/state/0/1"),
    ],
)
def test_the_folders_own_state(location: str, store: str) -> None:
    line = told(store)
    assert damaged_load(Told(line), location) == DamagedLoad(f"Caused by: {line}", 6)
    assert damaged_load(RuntimeError(line), location) == DamagedLoad(line, 6)


@pytest.mark.parametrize(
    "store",
    [
        "file:/other/state/0/1",
        "file:/data/query2/state/0/1",
        "file:/data/query/output/state/0/1",
        "hdfs://data/query/state/0/1",
        "s3://bucket/data/query/state/0/1",
    ],
)
def test_the_state_of_another_folder(store: str) -> None:
    """A function of the query has read it."""
    assert damaged_load(Told(told(store)), "file:/data/query") is None


def test_it_is_found_beside_that_of_another_folder() -> None:
    both = Told(f"{told('file:/other/state/0/1', 3)}\n{told('file:/data/query/state/0/1', 6)}")
    found = damaged_load(both, "file:/data/query")
    assert found is not None
    assert found.version == 6


@pytest.mark.parametrize(
    "line",
    [
        "[SNAPLINE-DAMAGED] file:/data/query/snapline/cuts/7/0-1: it has no end. Do: run verify.",
        "[SNAPLINE-NOT-FOUND] Version 6 of the state in file:/data/query/state/0/1 is not there: gone. Do: nothing.",
        "ValueError: [SNAPLINE-DAMAGED]",
    ],
)
def test_other_failures(line: str) -> None:
    assert damaged_load(Told(line), "file:/data/query") is None
    assert damaged_load(CheckpointDamaged("file:/data/query/commits/4 cannot be read.", "restore it."), "/data") is None
