"""The state alone, from one parallelism to the next."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from snapline.savepoint import create_savepoint, read_state, restore_savepoint

from .queries import StatefulQuery

# integration/savepoints has every pair of them.
STATIONS = {"aggregation": (12, 25, 4, 2), "keyed-function": (3, 1, 2)}


@pytest.mark.whole
@pytest.mark.parametrize("name", STATIONS)
def test_the_state_stays_the_same(spark: SparkSession, tmp_path: Path, name: str) -> None:
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(2))
    query.run("0")
    before = query.state("0")
    for step, parallelism in enumerate(STATIONS[name], 1):
        savepoint = str(tmp_path / f"savepoint-{step}")
        create_savepoint(spark, str(tmp_path / str(step - 1)), savepoint)
        restore_savepoint(spark, savepoint, str(tmp_path / str(step)), parallelism=parallelism)
    assert query.state(str(step)) == before


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
