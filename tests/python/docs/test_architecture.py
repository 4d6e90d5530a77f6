"""The architecture page names every room, in the order that the rules of both languages hold it to."""

from __future__ import annotations

import re

from .pages import TOP, text

JVM = TOP / "jvm"


def rooms(heading: str) -> list[str]:
    """The rooms of one table, from the top down."""
    _, _, rest = text("docs/architecture.md").partition(f"### {heading}")
    table = rest.partition("\n### ")[0].partition("\n`tests` mirrors")[0]
    names = [re.findall(r"`([\w.]+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| ")]
    return [name for cell in names for name in cell]


def layers() -> list[str]:
    """Of the contract in pyproject.toml."""
    _, _, rest = text("python/pyproject.toml").partition("layers = [")
    return re.findall(r'"(\w+)', rest.partition("]")[0])


def spec() -> list[str]:
    """Of RoomsSpec, from the bottom up, ours without `io.snapline`."""
    source = text("tests/jvm/spark/scala/io/snapline/spark/RoomsSpec.scala")
    return re.findall(r'"io\.snapline\.([\w.]+)"', source)


def packages(top: str) -> set[str]:
    base = JVM / top / "src" / "main" / "scala" / "io" / "snapline"
    return {file.parent.relative_to(base).as_posix().replace("/", ".") for file in base.rglob("*.scala")}


def test_python_rooms_are_those_of_the_contract() -> None:
    source = TOP / "python" / "src" / "snapline"
    folders = {file.parent.name for file in source.glob("*/*.py")} | {"session"}
    told = rooms("`python/src/snapline`")
    assert set(told) == folders
    assert told == [layer for layer in layers() if layer in folders]


def test_rooms_of_the_jvm_are_those_of_the_spec() -> None:
    ordered = list(reversed(spec()))
    core = rooms("`jvm/core`: `io.snapline`")
    assert set(core) == packages("core")
    assert core == [room for room in ordered if not room.startswith("spark")]
    spark = [f"spark.{room}" for room in rooms("`jvm/spark`: `io.snapline.spark`") if room != "ui.page"]
    assert set(spark) | {"spark", "spark.ui.page"} == packages("spark")
    assert [room for room in spark if room != "spark.plugin"] == [
        room for room in ordered if room in spark and room != "spark.plugin"
    ]


def test_rooms_inside_spark_are_those_of_the_sources() -> None:
    base = JVM / "spark" / "src" / "main" / "spark" / "org" / "apache" / "spark"
    folders = {file.parent.relative_to(base).as_posix().replace("/", ".") for file in base.rglob("*.scala")}
    assert set(rooms("`jvm/spark/src/main/spark`")) == folders
