"""docs/support.md, from what ran and how it ended: ``python -m tests.python.docs.support_page``.

``./test``, ``integration/run`` and ``scripts/wheel --check`` add lines to build/support.tsv, here as in continuous
integration. docs/support.tsv keeps the newest of each step and set of versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from .pages import TOP

KEPT = TOP / "docs/support.tsv"
RAN = TOP / "build/support.tsv"
PAGE = TOP / "docs/support.md"

#: Steps by the word of a column, in order. Each step is a name that a script gives to `ran` (scripts/env.sh).
COLUMNS = {
    "Scala": ("jvm",),
    "Python": ("python",),
    "line": ("line", "real-time", "long"),
    "wheel": ("wheel",),
    "Connect": ("connect",),
    "Spark's suites": ("suites", "some-suites", "drill"),
    "systems": ("systems", "sinks"),
}
TABLE = "| Spark | Python | Java | Hadoop |"


class Run(NamedTuple):
    """`day`: as 2026-11-28. `commit`: of the tree."""

    step: str
    spark: str
    python: str
    java: str
    hadoop: str
    outcome: str
    day: str
    commit: str

    @property
    def versions(self) -> tuple[str, str, str, str]:
        return self.spark, self.python, self.java, self.hadoop


def read(path: Path) -> list[Run]:
    return [Run(*line.split("\t")) for line in path.read_text().splitlines()] if path.exists() else []


def newest(runs: Iterable[Run]) -> list[Run]:
    """Of each step and versions the one that comes last, in order of versions."""
    last = {(run.step, run.versions): run for run in runs}
    return sorted(last.values(), key=lambda run: ([_numbers(each) for each in run.versions], run.step))


def page(runs: Iterable[Run]) -> str:
    """The page, with its table written anew from what `newest` gives."""
    rows: dict[tuple[str, ...], dict[str, Run]] = {}
    for run in runs:
        rows.setdefault(run.versions, {})[run.step] = run
    lines = [f"{TABLE} {' | '.join(COLUMNS)} |", "|---" * (4 + len(COLUMNS)) + "|"]
    for versions, steps in rows.items():
        cells = (cell(steps, names) for names in COLUMNS.values())
        lines.append(f"| {' | '.join((*versions, *cells))} |")
    return PAGE.read_text().partition(TABLE)[0] + "\n".join(lines) + "\n"


def cell(steps: Mapping[str, Run], names: Iterable[str]) -> str:
    """A failure of one of these steps is that of the cell; else the day of the oldest of them."""
    found = [steps[name] for name in names if name in steps]
    if not found:
        return ""
    failed = [run for run in found if run.outcome != "passed"]
    day = min(run.day for run in failed or found)
    return f"failed, {day}" if failed else day


def _numbers(version: str) -> list[int]:
    return [int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")]


if __name__ == "__main__":
    kept = newest([*read(KEPT), *read(RAN)])
    KEPT.write_text("".join("\t".join(run) + "\n" for run in kept))
    PAGE.write_text(page(kept))
