"""A session that was given the jar by hand, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import snapline

PROGRAM = """
import snapline
from pyspark.sql import SparkSession

class Echo(snapline.KeyedProcessFunction):
    def process_element(self, row, ctx):
        yield (row.id,)

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.jars", JAR).getOrCreate()
rows = spark.range(3)
rules = snapline.broadcast(rows, snapline.MapStateDescriptor("rules", "long", "long"))

class Both(snapline.KeyedBroadcastProcessFunction):
    def process_element(self, row, ctx):
        yield (row.id,)

    def process_broadcast_element(self, row, ctx):
        pass

for plan in (
    lambda: snapline.key_by(rows, "id").process(Echo(), "id long"),
    lambda: snapline.key_by(rows, "id").connect(rules).process(Both(), "id long"),
    lambda: snapline.key_by(rows, "id").reduce(lambda a, b: b),
):
    try:
        plan()
        print("taken")
    except snapline.SnaplineError as e:
        print(e)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Of a process of its own: what is on the class path of this one's JVM is settled."""
    folder: Path = tmp_path_factory.mktemp("by-hand")
    (folder / "program.py").write_text(PROGRAM.replace("JAR", repr(str(snapline.jar_path()))))
    ran = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_each_way_to_a_function_is_refused_when_it_is_planned(answers: list[str]) -> None:
    assert len(answers) == 3
    for answer in answers:
        assert answer.startswith("[SNAPLINE-CONFIG]")
        assert "spark.sql.extensions is ''" in answer
        assert "io.snapline.spark.SnaplineExtension" in answer
