"""The figures that the README shows, as it has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    """One row of the README's table.

    Attributes:
        title: the first cell, with its unit.
        ours: Snapline's value.
        theirs: the other engine's value.
    """

    title: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def figures(readme: Path) -> list[Figure]:
    """All rows of the section Figures."""
    _, _, rest = readme.read_text().partition("\n## Figures\n")
    rows = [line.split("|")[1:4] for line in rest.partition("\n## ")[0].splitlines() if line.startswith("|")]
    return [Figure(title.strip(), number(ours), number(theirs)) for title, ours, theirs in rows[2:]]


def number(cell: str) -> float:
    found = re.match(r"[\d,.]*\d", cell.strip())
    if found is None:
        raise ValueError(f"{cell!r} begins with no number.")
    return float(found[0].replace(",", ""))
