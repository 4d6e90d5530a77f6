"""One function, one result: the harness and the operator agree in every scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from ..conformance import functions, windows
from .runs import in_harness, in_spark
from .scenario import Scenario
from .scenarios import SCENARIOS

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(functions)
cloudpickle.register_pickle_by_value(windows)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_harness_and_operator_agree(scenario: Scenario, spark: SparkSession, tmp_path: Path) -> None:
    expected, expected_sides = in_harness(scenario)
    assert any(expected) or any(expected_sides.values())
    found, found_sides = in_spark(scenario, spark, tmp_path)
    assert found == expected
    assert found_sides == expected_sides


PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SPARK_STATE = "org.apache.spark.sql.execution.streaming.state"


@pytest.mark.parametrize(
    "scenario",
    [
        each
        for each in SCENARIOS
        if each.name
        in {
            "every kind of state, in tiny epochs",
            "timers",
            "time to live in event time",
            "every kind of operator state",
        }
    ],
    ids=lambda scenario: scenario.name,
)
def test_the_operator_runs_on_sparks_rocksdb_provider(scenario: Scenario, spark: SparkSession, tmp_path: Path) -> None:
    ours = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, f"{SPARK_STATE}.RocksDBStateStoreProvider")
    try:
        assert in_spark(scenario, spark, tmp_path)[0] == in_harness(scenario)[0]
    finally:
        spark.conf.set(PROVIDER, str(ours))
