"""Savepoint, restore at another parallelism, go on: state and output are those of a query that was never stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.inspect import CheckpointFolder, verify
from snapline.savepoint import create_savepoint, restore_savepoint

from ..cases import cases
from .queries import QUERIES, StatefulQuery


def carry(query: StatefulQuery, source: str, target: str, parallelism: int) -> None:
    savepoint = query.work / f"{target}-savepoint"
    create_savepoint(query.session, str(query.work / source), str(savepoint))
    restore_savepoint(query.session, str(savepoint), str(query.work / target), parallelism=parallelism)


@pytest.mark.parametrize("name", cases(QUERIES, ("no-key", "two-operators", "pandas-with-state")))
def test_goes_on_at_another_parallelism(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    query.run("whole")
    since = 1 + max(int(file.name) for file in (tmp_path / "whole-output").iterdir())
    before = query.state("whole")
    assert sum(rows for rows, _ in before.values()) > 0
    folder = CheckpointFolder(tmp_path / "whole")
    assert verify(folder).findings == ()
    assert folder.newest_loadable() == folder.newest is not None
    carry(query, "whole", "wider", 5)
    carry(query, "wider", "narrower", 1)
    assert query.state("wider") == before
    assert query.state("narrower") == before
    query.add_input(range(2, 4))
    for checkpoint in ("whole", "wider", "narrower"):
        query.run(checkpoint)
    assert query.output("whole", since)
    assert query.output("wider") == query.output("whole", since)
    assert query.output("narrower") == query.output("whole", since)
    assert query.state("wider") == query.state("whole") == query.state("narrower")
