"""The state of each stateful operator on each backend, from one parallelism to another and back: it stays the same, and
the query goes on as one that was never stopped.

Every pair of the numbers is gone by some operators; which ones is dealt out, for all of them would take hours.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, restore_savepoint
from tests.python.query.real_query import make_session
from tests.python.savepoint.queries import QUERIES, StatefulQuery

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 200)
BACKENDS = ("rocksdb", "hashmap")
BACKEND = "spark.snapline.state.backend.type"
KINDS = tuple(itertools.product(QUERIES, BACKENDS))

Pair = tuple[int, int]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = make_session("pairs", changelogs=2)
    yield session
    session.stop()


def dealt() -> dict[tuple[str, str], list[Pair]]:
    """Which round trips each kind makes, by chance: all pairs, and one for each kind at least."""
    pairs = list(itertools.combinations(NUMBERS, 2))
    chance = random.Random(8)
    chance.shuffle(pairs)
    found: dict[tuple[str, str], list[Pair]] = {kind: [] for kind in KINDS}
    for kind, pair in zip(itertools.cycle(chance.sample(KINDS, len(KINDS))), pairs, strict=False):
        found[kind].append(pair)
    return found


def test_every_pair_and_every_kind_is_dealt() -> None:
    trips = dealt()
    assert {pair for each in trips.values() for pair in each} == set(itertools.combinations(NUMBERS, 2))
    assert all(trips.values())


@pytest.mark.parametrize(("name", "backend"), KINDS)
def test_from_every_parallelism_to_every_other(spark: SparkSession, tmp_path: Path, name: str, backend: str) -> None:
    spark.conf.set(BACKEND, backend)
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    query.run("whole")
    since = 1 + max(int(file.name) for file in (tmp_path / "whole-output").iterdir())
    before = query.state("whole")
    assert sum(rows for rows, _ in before.values()) > 0
    last, step = "whole", 0
    for there, back in dealt()[name, backend]:
        for parallelism in (there, back, there):
            step += 1
            savepoint = str(tmp_path / "savepoint")
            create_savepoint(spark, str(tmp_path / last), savepoint)
            restore_savepoint(spark, savepoint, str(tmp_path / str(step)), parallelism=parallelism)
            shutil.rmtree(savepoint)
            last = str(step)
            assert query.state(last) == before, f"step {step}, to {parallelism}"
    query.add_input(range(2, 4))
    query.run("whole")
    query.run(last)
    assert query.output(last) == query.output("whole", since)
    assert query.state(last) == query.state("whole")
