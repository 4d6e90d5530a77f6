"""Checkpoint folders and savepoints that were written by earlier versions, and are kept.

``python -m integration.lines.kept`` adds those of this version, on each line of Spark: before a release.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

from integration.lines.lives import RELEASES, TOP, step

FOLDER = Path(__file__).with_name("kept")
#: Spark's logs name files by their whole path, and savepoints have checksums of the logs: a life goes on where it was.
PLACE = Path("/tmp/snapline-kept")
_EXPECTED = "expected.json"


def make(version: str, release: str) -> Path:
    """The first step of a life, and what is found after a second one on the same line."""
    clear()
    step(PLACE, 0, release)
    archive = FOLDER / f"{version}-spark-{release}.tar.xz"
    with tarfile.open(archive.with_suffix(".part"), "w:xz") as file:
        file.add(PLACE, arcname=".")
        expected = PLACE / _EXPECTED
        expected.write_text(json.dumps(step(PLACE, 1, release)))
        file.add(expected, arcname=_EXPECTED)
    archive.with_suffix(".part").rename(archive)
    return archive


def take_out(archive: Path) -> Any:
    """Puts a life where it was; what has to be found after its next step."""
    clear()
    with tarfile.open(archive) as file:
        file.extractall(PLACE, filter="data")
    return json.loads((PLACE / _EXPECTED).read_text())


def clear() -> None:
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in RELEASES:
        made = make((TOP / "VERSION").read_text().strip(), each)
        print(f"{made.relative_to(TOP)}: {made.stat().st_size:,} bytes")
    clear()
