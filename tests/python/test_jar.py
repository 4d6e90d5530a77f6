from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from snapline import __version__, jar, jar_path
from snapline._version import __spark_lines__
from snapline.errors import InvalidConfiguration, WrongSparkVersion
from snapline.jar import checked_jar, parse_properties
from snapline.spark_line import spark_line


def make_jar(folder: Path, *, version: str = __version__, line: str = spark_line(), named: str | None = None) -> Path:
    """`named`: the line in its name, if that is another."""
    folder.mkdir(exist_ok=True)
    path = folder / f"snapline-spark-{named or line}_2.13-{version}.jar"
    with ZipFile(path, "w") as file:
        file.writestr("snapline/version.properties", f"version={version}\nspark.line={line}\n")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jar, "_FOLDER", tmp_path)
    return tmp_path


def test_the_one_jar_is_found(folder: Path) -> None:
    path = make_jar(folder)
    assert jar_path() == path
    assert checked_jar().spark_line == spark_line()


def test_the_one_for_the_pyspark_that_is_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in __spark_lines__:
        make_jar(folder, line=line)
    for line in __spark_lines__:
        monkeypatch.setattr(jar, "spark_line", lambda line=line: line)
        assert checked_jar().spark_line == line


def test_a_spark_without_a_jar_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_jar(folder)
    monkeypatch.setattr(jar, "spark_line", lambda: "3.5")
    with pytest.raises(WrongSparkVersion, match=rf"no Snapline \S+ for Spark 3\.5, only for .*{__spark_lines__[0]}"):
        checked_jar()


def test_none_or_several_are_refused(folder: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="there is none"):
        jar_path()
    make_jar(folder)
    make_jar(folder, version="9.9")
    with pytest.raises(InvalidConfiguration, match=r"-9\.9\.jar"):
        jar_path()


@pytest.mark.parametrize("other", [{"version": "9.9"}, {"line": "9.9"}])
def test_a_jar_of_another_version_is_refused(folder: Path, other: dict[str, str]) -> None:
    make_jar(folder, **other, named=spark_line())
    with pytest.raises(WrongSparkVersion, match=next(iter(other.values()))):
        checked_jar()


def test_what_is_no_jar_is_refused(folder: Path) -> None:
    path = make_jar(folder)
    path.write_bytes(b"PK nonsense")
    with pytest.raises(InvalidConfiguration, match="is no jar of Snapline"):
        checked_jar()
    with ZipFile(path, "w") as file:
        file.writestr("other", "")
    with pytest.raises(InvalidConfiguration, match="is no jar of Snapline"):
        checked_jar()


def test_properties_as_people_write_them() -> None:
    text = "# a\n! b\n\nspark.a 1\nspark.b=2\nspark.c : 3 4 \nspark.d\t\t5=6\nspark.e\n"
    assert parse_properties(text) == {
        "spark.a": "1",
        "spark.b": "2",
        "spark.c": "3 4",
        "spark.d": "5=6",
        "spark.e": "",
    }
