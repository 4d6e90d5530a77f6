"""Medians over the runs, the state part of each provider, and how Snapline stands to its goals, as tables."""

from __future__ import annotations

from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from snapline_bench.bench import Bench
from snapline_bench.goal import Goal, Medians, Part
from snapline_bench.sheet import Sheet, number, spread

Run = dict[str, Any]

# Figures that fit side by side; with more of them each has a line.
WIDE = 9

# Cores that other processes may keep busy during a run before its times mean little.
QUIET = 0.3


def medians_of(runs: list[Run]) -> Medians:
    providers = dict.fromkeys(run["provider"] for run in runs)
    return {
        provider: {name: median(values) for name, values in figures_of(runs, provider).items()}
        for provider in providers
    }


def figures_of(runs: list[Run], provider: str) -> dict[str, list[float]]:
    mine = [run["figures"] for run in runs if run["provider"] == provider]
    return {name: [figures[name] for figures in mine] for name in mine[0]}


def state_parts(medians: Medians, names: tuple[str, ...]) -> Medians:
    """Each provider's figure less the one of the provider that stores nothing."""
    if "null" not in medians:
        return {}
    null = medians["null"]
    return {
        provider: {name: figures[name] - null[name] for name in names}
        for provider, figures in medians.items()
        if provider != "null"
    }


def show(bench: Bench, runs: list[Run]) -> None:
    console = Console(width=150)
    medians = medians_of(runs)
    console.print(figures_table(bench.name, runs, medians, bench.figures))
    if bench.state_part and "null" in medians:
        console.print(state_table(medians, bench.state_part, bench.figures))
    for sheet in bench.sheets(runs):
        console.print(sheet_table(sheet))
    console.print(goals_table(medians, bench.goals, bench.figures))
    disturbed = [run for run in runs if run["figures"]["others"] > QUIET]
    if disturbed:
        console.print(
            f"{len(disturbed)} of {len(runs)} runs shared the machine with more than {QUIET} cores of other work: "
            "do not trust their times, and their CPU figures only roughly"
        )


def figures_table(bench: str, runs: list[Run], medians: Medians, titles: dict[str, str]) -> Table:
    table = Table(title=f"{bench}: median (least - most) over the runs")
    titles = {name: title for name, title in titles.items() if any(name in figures for figures in medians.values())}
    if len(titles) > WIDE:
        table.add_column("")
        for provider in medians:
            table.add_column(provider, justify="right")
        for name, title in titles.items():
            cells = [measured(figures, name, figures_of(runs, provider)) for provider, figures in medians.items()]
            table.add_row(title, *cells)
        return table
    table.add_column("provider")
    table.add_column("runs", justify="right")
    for title in titles.values():
        table.add_column(title, justify="right")
    for provider, figures in medians.items():
        every = figures_of(runs, provider)
        cells = [measured(figures, name, every) for name in titles]
        table.add_row(provider, str(len(next(iter(every.values())))), *cells)
    return table


def measured(medians: dict[str, float], name: str, every: dict[str, list[float]]) -> str:
    """A figure; empty where a provider has none."""
    return cell(medians[name], every[name]) if name in medians else ""


def state_table(medians: Medians, names: tuple[str, ...], titles: dict[str, str]) -> Table:
    parts = state_parts(medians, names)
    table = Table(title="state part: provider less the one that stores nothing")
    table.add_column("provider")
    for name in names:
        table.add_column(titles[name], justify="right")
        table.add_column("/ changelog", justify="right")
        table.add_column("/ hdfs", justify="right")
    for provider, figures in parts.items():
        cells = []
        for name in names:
            cells.append(number(figures[name]))
            for other in ("changelog", "hdfs"):
                base = parts[other][name] if other in parts else 0.0
                cells.append(f"{figures[name] / base:.2f}" if base else "")
        table.add_row(provider, *cells)
    return table


def sheet_table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title)
    for number_of, column in enumerate(sheet.columns):
        table.add_column(column, justify="right" if number_of else "left")
    for row in sheet.rows:
        table.add_row(*row)
    return table


def goals_table(medians: Medians, goals: list[Goal], titles: dict[str, str]) -> Table:
    table = Table(title="goals: ratios of medians")
    for column in ("figure", "part", "of", "against", "is", "goal", ""):
        table.add_column(column)
    for goal in goals:
        value = goal.value(medians)
        if value is None:
            continue
        against = "" if goal.part is Part.ABSOLUTE else goal.against
        limit = "" if goal.limit is None else f"<= {goal.limit:g}"
        table.add_row(
            titles[goal.figure], goal.part.value, goal.ours, against, number(value), limit, goal.verdict(value)
        )
    left = len(goals) - table.row_count
    table.caption = f"not measured: {left} more" if left else None
    return table


def cell(middle: float, every: list[float]) -> str:
    return spread(middle, min(every), max(every))
