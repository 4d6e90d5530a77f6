"""docs/benchmarks.md, and its plots, from the recorded results. `bench/run page` writes both."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from snapline_bench import record, venv
from snapline_bench.sheet import number

DOCS = venv.BENCH.parent / "docs"
PAGE = DOCS / "benchmarks.md"
PLOTS = DOCS / "images" / "benchmarks"
README = DOCS.parent / "README.md"
BARS = DOCS / "images" / "figures.svg"
HEAD = """# Benchmarks

`bench/run page` writes this page from `bench/recorded`: the newest full run of each bench that was recorded.
[bench/README.md](../bench/README.md) says how each bench measures, and what runs against what.

- Trust the ratios of one run: providers take turns in it, each run in a process of its own. A ratio is one of medians.
- CPU is that of the whole process tree, JVM and Python, source and shuffle included.
- *State part* is a figure less that of the same query on a provider that stores nothing.
- *Other load* is how many cores everything outside the bench kept busy. Above 0.3, times on the clock mean little.
- Goals were set before the run. A goal without a number is shown for the reader only.
"""
COLUMNS = ("bench", "figure", "Snapline", "against", "its figure", "is", "goal", "verdict")

Result = dict[str, Any]


def page(results: list[Result]) -> str:
    """The page as Markdown."""
    goals = [(result, goal) for result in results for goal in result["goals"] if goal["is"] is not None]
    met = [each for each in goals if each[1]["verdict"] == "met"]
    missed = [each for each in goals if each[1]["verdict"] == "MISSED"]
    parts = [HEAD]
    if goals:
        parts.append(f"{len(met)} goals are met, {len(missed)} are missed.\n")
    if missed:
        parts.append("## Missed goals\n\n" + table(COLUMNS, [goal_row(*each) for each in missed]))
    if met:
        parts.append("## Met goals\n\n" + table(COLUMNS, [goal_row(*each) for each in met]))
    parts += [section(result) for result in results]
    if record.EARLIER.exists():
        parts.append(record.EARLIER.read_text())
    return "\n".join(parts)


def goal_row(result: Result, goal: dict[str, Any]) -> list[str]:
    figures = {row["provider"]: row["median"] for row in result["rows"]}
    figure, against = goal["figure"], goal["against"]
    is_absolute = goal["part"] == "absolute"
    if goal["part"] == "state part":
        figures = result["state_part"]
    theirs = "" if is_absolute or figures.get(against) is None else number(figures[against][figure])
    title = result["figures"][figure] + (", state part" if goal["part"] == "state part" else "")
    sign = "+" if goal["part"] == "added to" else ""
    found = number(goal["is"])
    return [
        f"[{result['name']}](#{result['name']})",
        title,
        f"{number(figures[goal['of']][figure])} (`{goal['of']}`)",
        "" if is_absolute else f"`{against}`",
        theirs,
        found if found.startswith("-") else sign + found,
        "" if goal["limit"] is None else f"≤ {sign}{goal['limit']:.3g}",
        {"met": "met", "MISSED": "**missed**"}.get(goal["verdict"], ""),
    ]


def section(result: Result) -> str:
    machine = result["machine"]
    # A result may name figures that only some of its providers have.
    titles = {
        name: title
        for name, title in result["figures"].items()
        if any(row["median"].get(name) is not None for row in result["rows"])
    }
    rows = [
        [f"`{row['provider']}`", str(row["runs"]), *(spread(row, name) for name in titles)] for row in result["rows"]
    ]
    lines = [
        f"## {result['name']}\n",
        f"{sentence(result['title'])}\n",
        f"`{result['command']}`, {result['date']}, commit {result['commit']}: {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, Python {machine['python']}, Spark {machine['spark']}; other load "
        f"{number(result['other_load'])}.\n",
        table(("", "runs", *titles.values()), rows),
    ]
    if (PLOTS / f"{result['name']}.svg").exists():
        lines.append(f"![{result['name']}, by provider](images/benchmarks/{result['name']}.svg)\n")
    for sheet in result["sheets"]:
        lines.append(f"### {sheet['title']}\n\n{table(sheet['columns'], sheet['rows'])}")
    return "\n".join(lines)


def spread(row: dict[str, Any], name: str) -> str:
    middle, least, most = (row[which].get(name) for which in ("median", "least", "most"))
    if middle is None:
        return ""
    if name == "others":
        # Below a hundredth of a core it is noise of the counters.
        middle, least, most = (round(value, 2) for value in (middle, least, most))
    return number(middle) if least == most else f"{number(middle)} ({number(least)} to {number(most)})"


def sentence(title: str) -> str:
    return title if title.endswith(".") else title + "."


def table(columns: tuple[str, ...] | list[str], rows: list[list[str]]) -> str:
    def line(cells: tuple[str, ...] | list[str]) -> str:
        return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", str(cell)) for cell in cells) + " |"

    return "\n".join([line(columns), "|" + "---|" * len(columns), *map(line, rows)]) + "\n"


def write() -> list[Path]:
    """Draws the plots, then writes the page.

    Raises:
        venv.NotInstalled: matplotlib cannot be had here.
    """
    python = venv.make("page-venv", venv.BENCH / "requirements.txt")
    command = [str(python), "-m", "snapline_bench.published_plots"]
    paths = (record.FOLDER, PLOTS, README, BARS)
    subprocess.run([*command, *map(str, paths)], env={"PYTHONPATH": str(venv.BENCH)}, check=True)
    PAGE.write_text(page(record.recorded()))
    return [PAGE, BARS, *sorted(PLOTS.glob("*.svg"))]
