"""Checkpoints and savepoints that one line of Spark wrote go on under the next one, and the one before it: output and
state are those of a life on one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.lines.lives import MAIN, RELEASES, step

UPWARDS = sorted(RELEASES, key=lambda release: tuple(map(int, release.split("."))))


def live(life: Path, releases: list[str]) -> list[Any]:
    """A step on each of these, in order; what was found after each."""
    return [step(life, number, release) for number, release in enumerate(releases)]


@pytest.fixture(scope="module")
def on_one_line(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return live(tmp_path_factory.mktemp("one"), [MAIN] * len(RELEASES))


@pytest.mark.parametrize("releases", [UPWARDS, UPWARDS[::-1]], ids=["upwards", "downwards"])
def test_from_each_line_to_the_next(on_one_line: list[Any], tmp_path: Path, releases: list[str]) -> None:
    found = live(tmp_path, releases)
    for release, here, expected in zip(releases, found, on_one_line, strict=True):
        for name in expected:
            assert here[name] == expected[name], f"{name} after the step on {release}"
            assert sum(map(len, expected[name]["output"].values())) > 0
