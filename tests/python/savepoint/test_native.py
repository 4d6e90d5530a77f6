"""Savepoints of the store's own files, and checkpoints begun with them: as canonical ones, at any parallelism."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.inspect import SavepointFolder
from snapline.savepoint import create_savepoint, rescale_checkpoint, restore_savepoint

from ..cases import cases
from .queries import QUERIES, StatefulQuery
from .test_running import total, writer


def carry(query: StatefulQuery, source: str, target: str, parallelism: int | None = None) -> None:
    savepoint = query.work / f"{target}-savepoint"
    create_savepoint(query.session, str(query.work / source), str(savepoint), format="native")
    restore_savepoint(query.session, str(savepoint), str(query.work / target), parallelism=parallelism)


@pytest.mark.whole
@pytest.mark.parametrize("name", cases(QUERIES, ("join", "keyed-function")))
def test_goes_on_at_another_parallelism(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(3))
    query.run("whole")
    since = 1 + max(int(file.name) for file in (tmp_path / "whole-output").iterdir())
    before = query.state("whole")
    assert sum(rows for rows, _ in before.values()) > 0
    carry(query, "whole", "same")
    carry(query, "same", "wider", 5)
    rescale_checkpoint(spark, str(tmp_path / "wider"), str(tmp_path / "narrower"), parallelism=1)
    assert query.state("same") == before
    assert query.state("wider") == before
    assert query.state("narrower") == before
    query.add_input(range(3, 6))
    for checkpoint in ("whole", "same", "wider", "narrower"):
        query.run(checkpoint)
    assert query.output("whole", since)
    for checkpoint in ("same", "wider", "narrower"):
        assert query.output(checkpoint) == query.output("whole", since)
        assert query.state(checkpoint) == query.state("whole")


def test_of_a_query_that_runs_with_an_interval_and_merged_files(spark: SparkSession, tmp_path: Path) -> None:
    config = CheckpointConfig(interval=timedelta(hours=1), file_merging=True)
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(2))
    running = snapline.start(writer(query, "one"), config)
    running.processAllAvailable()
    query.add_input(range(2, 3))
    metadata = running.savepoint(str(tmp_path / "running"), format="native")
    assert metadata.checkpoint is not None
    running.processAllAvailable()
    stopped = running.stop_with_savepoint(str(tmp_path / "stopped"), format="native")
    for path, batch in (("running", metadata.batch), ("stopped", stopped.batch)):
        SavepointFolder(tmp_path / path).verify()
        assert total(tmp_path / path, spark) == (batch + 1) * 60
    query.add_input(range(3, 5))
    again = snapline.start(writer(query, "two"), config, from_savepoint=str(tmp_path / "stopped"), parallelism=3)
    again.processAllAvailable()
    again.stop_with_savepoint(str(tmp_path / "later"), format="native")
    assert total(tmp_path / "later", spark) == 5 * 60
