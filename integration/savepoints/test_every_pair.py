"""The state of each stateful operator, from every parallelism to every other one and back: it stays the same."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, restore_savepoint
from tests.python.query.real_query import make_session
from tests.python.savepoint.queries import QUERIES, StatefulQuery

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 200)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = make_session("pairs", changelogs=2)
    yield session
    session.stop()


def tour() -> list[int]:
    """Begins and ends with 2, and goes from each number to each other one once."""
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


@pytest.mark.parametrize("name", QUERIES)
def test_from_every_parallelism_to_every_other(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    query.run("0")
    before = query.state("0")
    for step, parallelism in enumerate(tour()[1:], 1):
        savepoint = str(tmp_path / "savepoint")
        create_savepoint(spark, str(tmp_path / str(step - 1)), savepoint)
        restore_savepoint(spark, savepoint, str(tmp_path / str(step)), parallelism=parallelism)
        shutil.rmtree(savepoint)
        assert query.state(str(step)) == before, f"step {step}, to {parallelism}"
    query.add_input(range(2, 4))
    query.run("0")
    query.run(str(step))
    assert query.state(str(step)) == query.state("0")
