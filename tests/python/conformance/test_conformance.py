"""One function, one result: the harness and the operator agree in every scenario."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline

from . import functions
from .runs import in_harness, in_spark
from .scenario import Scenario
from .scenarios import SCENARIOS

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(functions)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").appName("conformance")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = snapline.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_harness_and_operator_agree(scenario: Scenario, spark: SparkSession, tmp_path: Path) -> None:
    expected, expected_sides = in_harness(scenario)
    assert any(expected) or any(expected_sides.values())
    found, found_sides = in_spark(scenario, spark, tmp_path)
    assert found == expected
    assert found_sides == expected_sides
