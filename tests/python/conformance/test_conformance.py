"""One function, one result: the harness and the operator agree in every scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from . import functions
from .runs import in_harness, in_spark
from .scenario import Scenario
from .scenarios import SCENARIOS

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(functions)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_harness_and_operator_agree(scenario: Scenario, spark: SparkSession, tmp_path: Path) -> None:
    expected, expected_sides = in_harness(scenario)
    assert any(expected) or any(expected_sides.values())
    found, found_sides = in_spark(scenario, spark, tmp_path)
    assert found == expected
    assert found_sides == expected_sides
