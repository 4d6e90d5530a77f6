"""Lives of all stateful operators, a step at a time, each step on a line of Spark."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[2]
RELEASES = (TOP / "SPARK_LINES").read_text().split()
MAIN = RELEASES[0]


def step(life: Path, number: int, release: str) -> Any:
    """Goes on with a life, on a release of Spark; the rows and states that were found after it."""
    venv = ".venv" if release == MAIN else f".venv-{release.rpartition('.')[0]}"
    environment = {**os.environ, "PYTHONPATH": str(TOP), "SNAPLINE_SPARK": release}
    subprocess.run([TOP / "scripts" / "jar"], env=environment, check=True)
    command = [str(TOP / venv / "bin" / "python"), "-m", "integration.lines.job", str(life), str(number)]
    subprocess.run(command, env=environment, check=True, cwd=life)
    return json.loads((life / f"found-{number}.json").read_text())
