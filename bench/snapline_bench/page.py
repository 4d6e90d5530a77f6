"""report.json as a page: one file, which loads nothing. `python -m snapline_bench.page REPORT.json REPORT.html`"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from snapline_bench.sheet import number, spread

Bench = dict[str, Any]
Plots = Callable[[Bench], list[str]]
"""Of a bench: drawings, as SVG."""

STYLE = Path(__file__).with_name("page.css").read_text()


def page(report: dict[str, Any], plots: Plots) -> str:
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>Snapline: figures</title><style>{STYLE}</style></head><body>",
        head(report),
        summary_of_goals(report["benches"]),
        *(section(bench, plots) for bench in report["benches"]),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def head(report: dict[str, Any]) -> str:
    machine, goals = report["machine"] or {}, report["goals"]
    told = {
        "commit": report["commit"],
        "begun": report["started"],
        "ended": report["ended"] or "not yet",
        "benches took": f"{report['seconds'] / 60:.0f} min",
        **{name.replace("_", " "): value for name, value in machine.items()},
        **({"soak": f"{report['minutes']:g} min"} if report["minutes"] is not None else {}),
    }
    quick = "<p class='missed'>Quick sizes: a look. The goals are about the full ones.</p>" if report["quick"] else ""
    failures = "".join(f"<p class='failed'>Failed: {escape(line)}</p>" for line in report["failures"])
    links = "".join(
        f"<li><a href='#{escape(bench['name'])}'>{escape(bench['name'])}</a></li>" for bench in report["benches"]
    )
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in told.items())
    return (
        "<header><h1>Snapline: figures</h1>"
        f"<p><b class='met'>{goals['met']} goals met</b>, <b class='missed'>{goals['missed']} missed</b>. "
        "CPU time and ratios of one run are what to trust; time on the clock only where nothing else ran.</p>"
        f"{quick}{failures}<dl>{facts}</dl></header><nav><ul>{links}</ul></nav>"
    )


def summary_of_goals(benches: Iterable[Bench]) -> str:
    """Missed ones first: they are what a reader should not have to look for."""
    goals = [(bench, goal) for bench in benches for goal in bench["goals"] if goal["limit"] is not None]
    goals.sort(key=lambda each: each[1]["verdict"] == "met")
    rows = [
        [f"<a href='#{escape(bench['name'])}'>{escape(bench['name'])}</a>", *goal_cells(bench, goal)]
        for bench, goal in goals
    ]
    if not rows:
        return ""
    return f"<section class='words'><h2>Goals</h2>{table(('bench', *GOAL_COLUMNS), rows)}</section>"


VERDICTS = ("met", "MISSED")
GOAL_COLUMNS = ("figure", "of", "against", "is", "goal", "")


def goal_cells(bench: Bench, goal: dict[str, Any]) -> list[str]:
    figure = bench["figures"].get(goal["figure"], goal["figure"])
    against = {"absolute": "", "added to": f"added to {goal['against']}"}.get(goal["part"], goal["against"])
    if goal["part"] == "state part":
        against += ", state part"
    limit = "" if goal["limit"] is None else f"≤ {goal['limit']:.3g}"
    value = "" if goal["is"] is None else number(goal["is"])
    cells = [*map(escape, (figure, goal["of"], against, value, limit))]
    return [*cells, verdict(goal["verdict"]) if goal["limit"] is not None else ""]


def verdict(text: str) -> str:
    return f"<span class='{text.lower()}'>{text}</span>"


def section(bench: Bench, plots: Plots) -> str:
    name, about = escape(bench["name"]), bench["about"]
    parts = [f"<section id='{name}'><h2>{name}</h2><p>{escape(bench['title'])}</p>"]
    if about:
        parts.append(
            f"<p class='soft'><code>{escape(about['command'])}</code> took {about['seconds']:.0f} s beside "
            f"{about['other_load']:.1f} cores of other work (load average at most {about['load_average_most']:.1f})"
            + ("." if bench["quiet"] or not bench["rows"] else ": times on the clock mean little here.")
            + "</p>"
        )
    if bench["state"] == "failed":
        parts.append(f"<p class='failed'>Failed: {escape(bench['reason'])}</p>")
    elif bench["state"] == "not run":
        parts.append("<p class='soft'>Not run.</p>")
    if bench["rows"]:
        parts.append(figures(bench))
        drawings = plots(bench)
        if drawings:
            parts.append(f"<div class='plots'>{''.join(drawings)}</div>")
    if bench["state_part"]:
        parts.append(state_part(bench))
    for sheet in bench["sheets"]:
        rows = [[verdict(cell) if cell in VERDICTS else escape(cell) for cell in row] for row in sheet["rows"]]
        parts.append(f"<h3>{escape(sheet['title'])}</h3>{table(sheet['columns'], rows)}")
    if bench["goals"]:
        rows = [goal_cells(bench, goal) for goal in bench["goals"]]
        parts.append(f"<div class='words'><h3>Ratios and goals</h3>{table(GOAL_COLUMNS, rows)}</div>")
    if bench["sizes"]:
        sizes = ", ".join(f"{name} {value}" for name, value in bench["sizes"].items())
        parts.append(f"<details><summary>Sizes</summary>{escape(sizes)}</details>")
    return "".join([*parts, "</section>"])


def figures(bench: Bench) -> str:
    titles = bench["figures"]
    cells = [[escape(row["provider"]), *(figure(row, name) for name in titles)] for row in bench["rows"]]
    if len(bench["rows"]) == 1 and len(titles) > 8:
        # One provider with much to tell: read downwards.
        lines = list(zip((escape(title) for title in titles.values()), cells[0][1:], strict=True))
        return table(("", bench["rows"][0]["provider"]), lines)
    return table(("", *titles.values()), cells, [ours(row["provider"]) for row in bench["rows"]])


def figure(row: dict[str, Any], name: str) -> str:
    middle, least, most = (row[which].get(name) for which in ("median", "least", "most"))
    if middle is None:
        return ""
    shown = spread(middle, least, most)
    first, _, rest = shown.partition(" (")
    return escape(first) + (f"<span class='range'>{escape(rest.rstrip(')'))}</span>" if rest else "")


def state_part(bench: Bench) -> str:
    names = list(next(iter(bench["state_part"].values())))
    rows = [
        [escape(provider), *(number(figures[name]) for name in names)]
        for provider, figures in bench["state_part"].items()
    ]
    marks = [ours(provider) for provider in bench["state_part"]]
    columns = ("", *(bench["figures"][name] for name in names))
    return f"<h3>State part: less the provider that stores nothing</h3>{table(columns, rows, marks)}"


def ours(provider: str) -> bool:
    return provider.startswith("snapline") or provider in ("arrow", "hashmap")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], marks: Sequence[bool] = ()) -> str:
    """`rows`: of HTML. `marks`: rows to stand out."""
    header = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = []
    for index, row in enumerate(rows):
        mark = " class='ours'" if index < len(marks) and marks[index] else ""
        lines.append(f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>")
    return f"<div class='wide'><table><thead><tr>{header}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"


def main(report: Path, to: Path) -> None:
    try:
        from snapline_bench.plots import plots
    except ModuleNotFoundError:  # matplotlib could not be installed
        plots = no_plots
    to.write_text(page(json.loads(report.read_text()), plots), encoding="utf-8")


def no_plots(bench: Bench) -> list[str]:
    return []


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
