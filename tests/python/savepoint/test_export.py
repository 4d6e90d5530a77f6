"""Spark alone goes on from an exported savepoint, to the same output as a query that was never stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline import spark_line as spark_line_module
from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.savepoint import create_savepoint, export_savepoint, read_state
from snapline.savepoint.foreign import provider_class
from snapline.spark_line import has_empty_stores

from ..cases import cases
from .queries import QUERIES, StatefulQuery

TOP = Path(__file__).parents[3]

later = pytest.mark.skipif(not has_empty_stores(), reason="Spark's own stores can begin empty from 4.2 on")
# All but Snapline's own.
NAMES = cases([name for name in QUERIES if name != "keyed-function"], ("aggregation", "join", "transform-with-state"))


@pytest.fixture(scope="module")
def queries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[StatefulQuery, int]]:
    """Each with ``whole``, which ran on, and ``exported``, which Spark took over at the batch."""
    work = tmp_path_factory.mktemp("exports")
    found = {}
    for name in NAMES:
        query = StatefulQuery(spark, work / name, name)
        query.add_input(range(2))
        query.run("whole")
        since = 1 + max(int(file.name) for file in (query.work / "whole-output").iterdir())
        create_savepoint(spark, str(query.work / "whole"), str(query.work / "savepoint"))
        exported = str(query.work / "exported")
        export_savepoint(spark, str(query.work / "savepoint"), exported, parallelism=3)
        # Read back through Spark's own provider.
        assert query.state("exported") == query.state("whole")
        # After a pause, so that sessions end and what was seen is forgotten.
        query.add_input([2, 3, 12, 13])
        query.run("whole")
        found[name] = (query, since)
    script = [sys.executable, "-m", "tests.python.savepoint.plain_spark", str(work), *NAMES]
    path = os.pathsep.join([str(TOP), *sys.path])
    ended = subprocess.run(script, cwd=TOP, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return found


@later
@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_spark_alone_goes_on(queries: dict[str, tuple[StatefulQuery, int]], name: str) -> None:
    query, since = queries[name]
    assert any(query.output("whole", since))
    assert query.output("exported") == query.output("whole", since)
    # Snappy or not, Spark's store names its snapshots so.
    assert any((query.work / "exported/state").rglob("*.zip"))
    assert not any((query.work / "exported/state").rglob("*.handle"))
    assert query.state("exported") == query.state("whole")


def test_a_line_of_spark_that_cannot_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_line_module, "spark_line", lambda: "4.1")
    with pytest.raises(InvalidConfiguration, match=r"cannot begin at a later version .*Spark 4\.2 or later"):
        provider_class("rocksdb")


@later
def test_what_spark_does_not_have_is_named(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "keyed-function")
    query.add_input(range(1))
    query.run("checkpoint")
    savepoint, target = str(tmp_path / "savepoint"), tmp_path / "exported"
    create_savepoint(spark, str(tmp_path / "checkpoint"), savepoint)
    with pytest.raises(IncompatibleState, match=r"operator 0 .*functions of Snapline"):
        export_savepoint(spark, savepoint, str(target))
    for provider, text in (("hdfs", "cannot begin at a later version"), ("leveldb", "is not known")):
        with pytest.raises(InvalidConfiguration, match=text):
            export_savepoint(spark, savepoint, str(target), provider=provider)
    with pytest.raises(InvalidConfiguration, match="not empty"):
        export_savepoint(spark, savepoint, str(tmp_path / "checkpoint"))
    assert not target.exists()
    assert read_state(savepoint, state="total", session=spark).count() > 0
