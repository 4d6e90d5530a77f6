from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_gateway import JavaPackage

from snapline.errors import WrongSparkVersion
from snapline.java_api import java_checkpointing, java_functions


class Jvm:
    """Answers a name as py4j does: with a package, where the JVM knows no class of it."""

    def __init__(self, *classes: str) -> None:
        self._classes = classes

    def __getattr__(self, name: str) -> Any:
        return f"class {name}" if name in self._classes else JavaPackage(name, None)


def session(*classes: str) -> Any:
    return SimpleNamespace(_jvm=Jvm(*classes))


def test_a_session_without_the_jar_is_told_what_to_do() -> None:
    with pytest.raises(WrongSparkVersion, match=r"without Snapline's jar.*KeyedProcessApi.*snapline\.configure"):
        java_functions(session())


def test_an_object_is_found_by_its_name() -> None:
    name = "io.snapline.spark.coordinator.Checkpointing"
    assert java_checkpointing(session(name)) == f"class {name}"
