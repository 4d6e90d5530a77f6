from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from snapline.errors import WrongSparkVersion
from snapline.stream.frame import API, jvm_api


class Packages:
    """Names of Java packages and classes as py4j gives them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Packages:
        return Packages(f"{self.name}.{name}".lstrip("."))


def frame(*, has_jar: bool) -> Any:
    def find(name: str, initialize: bool, loader: Any) -> Any:
        if not has_jar:
            raise RuntimeError(f"java.lang.ClassNotFoundException: {name}")

    thread = SimpleNamespace(currentThread=lambda: SimpleNamespace(getContextClassLoader=lambda: "loader"))
    lang = SimpleNamespace(Thread=thread, Class=SimpleNamespace(forName=find))
    jvm = SimpleNamespace(java=SimpleNamespace(lang=lang), org=Packages("org"))
    return SimpleNamespace(sparkSession=SimpleNamespace(_jvm=jvm))


def test_a_session_without_the_jar_is_told_what_to_do() -> None:
    with pytest.raises(WrongSparkVersion, match=r"without Snapline's jar.*KeyedProcessApi.*snapline\.configure"):
        jvm_api(frame(has_jar=False))


def test_the_entry_is_found_by_its_name() -> None:
    assert jvm_api(frame(has_jar=True)).name == API
