"""The state alone, from each parallelism to each other: it is the same after any number of moves."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, read_state, restore_savepoint

from .queries import StatefulQuery

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 200)


def tour() -> list[int]:
    """Begins and ends with 2, and goes from each number to each other one and back, once."""
    there = {number: [other for other in NUMBERS if other != number] for number in NUMBERS}
    path, stack = [], [2]
    # Hierholzer: every number has as many ways in as out.
    while stack:
        if there[stack[-1]]:
            stack.append(there[stack[-1]].pop())
        else:
            path.append(stack.pop())
    return path[::-1]


def test_the_tour_has_every_pair() -> None:
    assert sorted(itertools.pairwise(tour())) == sorted(itertools.permutations(NUMBERS, 2))


@pytest.mark.parametrize("name", ["keyed-function"])
def test_from_every_parallelism_to_every_other(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    query.run("0")
    before = query.state("0")
    for step, parallelism in enumerate(tour()[1:], 1):
        savepoint = str(tmp_path / f"savepoint-{step}")
        create_savepoint(spark, str(tmp_path / str(step - 1)), savepoint)
        restore_savepoint(spark, savepoint, str(tmp_path / str(step)), parallelism=parallelism)
    assert query.state(str(step)) == before
    query.add_input(range(2, 4))
    query.run("0")
    query.run(str(step))
    assert query.state(str(step)) == query.state("0")


def test_each_key_is_where_spark_looks_for_it(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    query.add_input(range(2))
    query.run("checkpoint")
    create_savepoint(spark, str(tmp_path / "checkpoint"), str(tmp_path / "savepoint"))
    for parallelism in (3, 7):
        restored = str(tmp_path / f"restored-{parallelism}")
        restore_savepoint(spark, str(tmp_path / "savepoint"), restored, parallelism=parallelism)
        places = read_state(restored, session=spark).selectExpr(
            "partition",
            "key_group",
            f"pmod(hash(key.k, key.name), {parallelism}) AS place",
            "pmod(hash(key.*), 57600) AS grp",
        )
        rows = places.collect()
        assert len({row.partition for row in rows}) > 1
        assert all(row.partition == row.place and row.key_group == row.grp for row in rows)
