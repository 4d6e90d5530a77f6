from __future__ import annotations

from pathlib import Path

import pytest

from snapline.errors import InvalidConfiguration
from snapline.launch import read_launch


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "spark-defaults.conf").write_text("spark.jars /d/a.jar\nspark.master local[1]\nother 1\n")
    return {"SPARK_CONF_DIR": str(tmp_path)}


def test_nothing_is_set() -> None:
    launch = read_launch({"SPARK_HOME": "/absent"})
    assert (launch.conf, launch.command_jars, launch.properties) == ({}, None, None)


def test_defaults_are_read(environ: dict[str, str], tmp_path: Path) -> None:
    launch = read_launch(environ)
    assert launch.conf == {"spark.jars": "/d/a.jar", "spark.master": "local[1]"}
    assert launch.command_jars is None
    assert launch.properties == tmp_path / "spark-defaults.conf"


def test_the_command_line_goes_before_the_defaults(environ: dict[str, str]) -> None:
    environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.master=local[2] -c 'spark.x=a b=c' --jars /j/b.jar pyspark-shell"
    launch = read_launch(environ)
    assert launch.conf == {"spark.jars": "/j/b.jar", "spark.master": "local[2]", "spark.x": "a b=c"}
    assert launch.command_jars == "/j/b.jar"


def test_the_option_goes_before_the_setting() -> None:
    arguments = "--jars=/j/b.jar --conf spark.jars=/j/c.jar pyspark-shell"
    assert read_launch({"PYSPARK_SUBMIT_ARGS": arguments}).command_jars == "/j/b.jar"


def test_a_properties_file_stands_for_the_defaults(environ: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "own.conf"
    file.write_text("spark.y=1")
    environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {file} pyspark-shell"
    assert read_launch(environ).conf == {"spark.y": "1"}
    environ["PYSPARK_SUBMIT_ARGS"] += " --load-spark-defaults"
    assert read_launch(environ).conf == {"spark.jars": "/d/a.jar", "spark.master": "local[1]", "spark.y": "1"}


@pytest.mark.parametrize("arguments", ["--conf 'spark.x=1", "--properties-file /absent/x"])
def test_what_cannot_be_read_is_refused(arguments: str) -> None:
    with pytest.raises(InvalidConfiguration):
        read_launch({"PYSPARK_SUBMIT_ARGS": arguments})
