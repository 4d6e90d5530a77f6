"""A checkpoint, and a savepoint, that one line of Spark wrote goes on under another, and under the first again: output
and state are those of a life on one line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).parents[2]
RELEASES = (TOP / "SPARK_LINES").read_text().split()
MAIN, *OTHERS = RELEASES
STEPS = 3


def live(life: Path, releases: list[str]) -> list[Any]:
    """A step on each of these, in order; what was found after each."""
    for step, release in enumerate(releases):
        venv = ".venv" if release == MAIN else f".venv-{release.rpartition('.')[0]}"
        environment = {**os.environ, "PYTHONPATH": str(TOP), "SNAPLINE_SPARK": release}
        subprocess.run([TOP / "scripts" / "jar"], env=environment, check=True)
        command = [TOP / venv / "bin" / "python", "-m", "integration.lines.job", str(life), str(step)]
        subprocess.run(command, env=environment, check=True, cwd=life)
    return [json.loads((life / f"found-{step}.json").read_text()) for step in range(len(releases))]


@pytest.fixture(scope="module")
def on_one_line(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return live(tmp_path_factory.mktemp("one"), [MAIN] * STEPS)


@pytest.mark.parametrize("other", OTHERS)
def test_there_and_back(on_one_line: list[Any], tmp_path: Path, other: str) -> None:
    found = live(tmp_path, [MAIN, other, MAIN])
    for step, (here, expected) in enumerate(zip(found, on_one_line, strict=True)):
        for name in expected:
            assert here[name] == expected[name], f"{name} after step {step}"
    assert all(sum(len(rows) for rows in each["output"].values()) > 0 for each in on_one_line[-1].values())


@pytest.mark.parametrize("other", OTHERS)
def test_begun_on_the_other(on_one_line: list[Any], tmp_path: Path, other: str) -> None:
    found = live(tmp_path, [other, MAIN, other])
    for name in on_one_line[-1]:
        assert found[-1][name] == on_one_line[-1][name], name
