"""Savepoints of the store's own files, and checkpoints begun with them: as canonical ones, at any parallelism."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, rescale_checkpoint, restore_savepoint

from .queries import QUERIES, StatefulQuery


def carry(query: StatefulQuery, source: str, target: str, parallelism: int | None = None) -> None:
    savepoint = query.work / f"{target}-savepoint"
    create_savepoint(query.session, str(query.work / source), str(savepoint), format="native")
    restore_savepoint(query.session, str(savepoint), str(query.work / target), parallelism=parallelism)


@pytest.mark.parametrize("name", QUERIES)
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
