"""How numbers and tables look."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

_WIDTH_OF_A_PIPE = 140


def console() -> Console:
    """Standard output, wide where nobody looks. Text is taken as it is: names of states may hold brackets."""
    return Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_A_PIPE)


def table(title: str, *columns: str, numbers: Sequence[str] = ()) -> Table:
    """A table whose columns in ``numbers`` stand right."""
    made = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        header_style="",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        right = column in numbers
        made.add_column(column, justify="right" if right else "left", no_wrap=right, overflow="fold")
    return made


def print_json(value: Any) -> None:
    """Dataclasses and what JSON knows."""
    json.dump(value, sys.stdout, indent=2, default=dataclasses.asdict)
    print()


def size(count: float | None) -> str:
    """Bytes for people: ``1.4 MB``."""
    if count is None:
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 99.95 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def share(part: float, whole: float) -> str:
    """``12 %``; of nothing: ``-``."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers: ``3-7, 9``; ``none`` if there are none."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs) or "none"


def moment(millis: int | None) -> str:
    """Milliseconds since 1970 on this machine's clock; ``-`` for None."""
    if millis is None:
        return "-"
    return datetime.fromtimestamp(millis / 1000).strftime("%Y-%m-%d %H:%M:%S")


def duration(millis: int | None) -> str:
    """``85 ms``, ``1.4 s``, ``12 min 5 s``; ``-`` for None."""
    if millis is None:
        return "-"
    if millis < 1000:
        return f"{millis} ms"
    return f"{millis / 1000:.1f} s" if millis < 60_000 else f"{millis // 60_000} min {millis // 1000 % 60} s"


def number(value: int | None) -> str:
    """``1,234``; ``-`` for None."""
    return "-" if value is None else f"{value:,}"
