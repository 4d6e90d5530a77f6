"""Spark's other checkpoint format, its other encoding of rows, and from one backend into the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, restore_savepoint

from ..cases import cases
from .queries import StatefulQuery

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
BACKEND = "spark.snapline.state.backend.type"
CHECKSUM = "spark.sql.streaming.stateStore.rowChecksum.enabled"
CHOSEN = [
    ("join", FORMAT, "2", "native"),
    ("keyed-function", FORMAT, "2", "canonical"),
    ("transform-with-state", ENCODING, "avro", "native"),
    ("aggregation", CHECKSUM, "true", "canonical"),
]
EVERY = [(*case, kind) for *case, _ in CHOSEN for kind in ("canonical", "native")]


@pytest.mark.whole
@pytest.mark.parametrize(("name", "setting", "value", "kind"), cases(EVERY, CHOSEN))
def test_goes_on(spark: SparkSession, tmp_path: Path, name: str, setting: str, value: str, kind: str) -> None:
    spark.conf.set(setting, value)
    try:
        query = StatefulQuery(spark, tmp_path, name)
        query.add_input(range(2))
        query.run("whole")
        since = 1 + max(int(file.name) for file in (tmp_path / "whole-output").iterdir())
        before = query.state("whole")
        assert sum(rows for rows, _ in before.values()) > 0
        create_savepoint(spark, str(tmp_path / "whole"), str(tmp_path / "savepoint"), format=kind)
        restore_savepoint(spark, str(tmp_path / "savepoint"), str(tmp_path / "wider"), parallelism=3)
        assert query.state("wider") == before
        query.add_input(range(2, 4))
        query.run("whole")
        query.run("wider")
        assert query.output("wider") == query.output("whole", since)
        assert query.state("wider") == query.state("whole")
    finally:
        spark.conf.unset(setting)


@pytest.mark.parametrize("backends", [("hashmap", "rocksdb"), ("rocksdb", "hashmap")], ids="-".join)
def test_into_the_other_backend(spark: SparkSession, tmp_path: Path, backends: tuple[str, str]) -> None:
    query = StatefulQuery(spark, tmp_path, "keyed-function")
    query.add_input(range(2))
    before, after = backends
    try:
        spark.conf.set(BACKEND, before)
        query.run("one")
        state = query.state("one")
        spark.conf.set(BACKEND, after)
        # Who reads state sees by which backend it was written.
        assert query.state("one") == state
        create_savepoint(spark, str(tmp_path / "one"), str(tmp_path / "savepoint"))
        restore_savepoint(spark, str(tmp_path / "savepoint"), str(tmp_path / "two"), parallelism=3)
        assert query.state("two") == state
        query.add_input(range(2, 3))
        query.run("two")
        spark.conf.set(BACKEND, before)
        query.run("one")
        expected = query.state("one")
        spark.conf.set(BACKEND, after)
        assert query.state("two") == expected
    finally:
        spark.conf.unset(BACKEND)
