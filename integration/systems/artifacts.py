"""Jars from Maven, through jgo, which the project has for sbt anyway. They stay in Maven's own folder."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pyspark
import pytest
from jgo.maven import MavenContext

SPARK_JARS = Path(pyspark.__file__).parent / "jars"
SCALA = "2.13"


@cache
def _maven() -> MavenContext:
    return MavenContext(timeout=120)


def jar(coordinates: str) -> Path:
    """One, without what it depends on."""
    return first_of([coordinates])


def first_of(choice: Iterable[str]) -> Path:
    """The first that there is. A repository may lack a module of the newest Spark."""
    failures = []
    for coordinates in choice:
        try:
            return Path(_maven().create_dependency(coordinates).artifact.resolve())
        except Exception as e:  # jgo has no errors of its own
            failures.append(f"{coordinates}: {e}")
    pytest.skip("not to be had from Maven: " + "; ".join(failures))


def class_path(coordinates: str) -> str:
    """Of a program: the artifact and all that it depends on."""
    try:
        wanted, others = _maven().resolver.resolve([_maven().create_dependency(coordinates)])
        needed = [each for each in [*wanted, *others] if each.scope != "provided" and not each.optional]
        return ":".join(str(each.artifact.resolve()) for each in needed)
    except Exception as e:  # as above
        pytest.skip(f"not to be had from Maven: {coordinates}: {e}")


def spark_jar(name: str) -> Path:
    """Of those that Spark ships, by the beginning of its name."""
    found = sorted(SPARK_JARS.glob(f"{name}-[0-9]*.jar"))
    assert len(found) == 1, (name, found)
    return found[0]


def version_of(name: str) -> str:
    """Of a jar that Spark ships."""
    return spark_jar(name).stem.removeprefix(f"{name}-")
