"""What one run of a drill has come to, by pytest's report of it, and the table of all runs."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from .tally import Tally

COUNTS = [field.name for field in fields(Tally)]
HEADER = ("drill", "modes", "runs", "kills", "faults survived", "rows compared", "rows wrong", "seconds", "")


@dataclass(frozen=True)
class Run:
    """
    Attributes:
        failures: tests that failed, and the first line of why.
        skipped: what was not there, of tests that did not run.
    """

    drill: str
    seed: int
    seconds: float
    tally: Tally
    failures: Sequence[str]
    skipped: Sequence[str]


def read_run(drill: str, seed: int, seconds: float, report: Path, status: int) -> Run:
    """
    Args:
        report: in JUnit's format. It is missing where pytest did not come to its end.
        status: of pytest.
    """
    tally = Tally(modes=0)
    failures: list[str] = []
    skipped: list[str] = []
    cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    for case in cases:
        for each in case.iter("property"):
            if each.get("name") in COUNTS:
                name = each.get("name", "")
                setattr(tally, name, getattr(tally, name) + int(each.get("value", "0")))
        for kind, found in (("failure", failures), ("error", failures), ("skipped", skipped)):
            found += [f"{case.get('name')}: {first_line(each)}" for each in case.iter(kind)]
    if status != 0 and not failures:
        failures.append(f"pytest ended with status {status}")
    return Run(drill, seed, seconds, tally, failures, skipped)


def first_line(element: ElementTree.Element) -> str:
    return (element.get("message") or "").strip().partition("\n")[0][:300]


def table(runs: Iterable[Run]) -> str:
    """A line for each drill, in the order of their first runs, and one for all."""
    by_drill: dict[str, list[Run]] = {}
    for run in runs:
        by_drill.setdefault(run.drill, []).append(run)
    lines = [row(name, each) for name, each in by_drill.items()]
    lines.append(
        row("total", [run for each in by_drill.values() for run in each], modes=sum(map(modes, by_drill.values())))
    )
    rows = [HEADER, *lines]
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([line[0].ljust(width[0]), *map(str.rjust, line[1:], width[1:])]).rstrip() for line in rows
    )


def modes(runs: Sequence[Run]) -> int:
    """Each run is in all of them, unless it was cut short."""
    return max(run.tally.modes for run in runs)


def row(name: str, runs: Sequence[Run], modes: int | None = None) -> tuple[str, ...]:
    def total(count: str) -> str:
        return f"{sum(getattr(run.tally, count) for run in runs):,}"

    failed, skipped = sum(bool(run.failures) for run in runs), sum(len(run.skipped) for run in runs)
    outcome = f"{failed} FAILED" if failed else f"{skipped} tests skipped" if skipped else ""
    in_modes = max(run.tally.modes for run in runs) if modes is None else modes
    return (
        name,
        f"{in_modes:,}",
        f"{len(runs):,}",
        *(total(count) for count in COUNTS[1:]),
        f"{sum(run.seconds for run in runs):,.0f}",
        outcome,
    )
