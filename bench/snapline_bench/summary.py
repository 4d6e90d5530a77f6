"""What `bench/run all` found, as one JSON object: of every bench its rows, ratios and goals, and what else went on."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snapline_bench.bench import Bench
from snapline_bench.report import QUIET, figures_of, medians_of

# Of a run beside its figures: what the page draws.
DRAWN = ("samples", "points")


def summary(folder: Path, benches: Sequence[Bench]) -> dict[str, Any]:
    """Of the results in the folder of a run; a bench without one is there as not run, or as failed."""
    told = json.loads((folder / "run.json").read_text())
    parts = [
        part(bench, read(folder / f"{bench.name}.json"), read(folder / f"{bench.name}.about.json")) for bench in benches
    ]
    goals = [goal["verdict"] for each in parts for goal in each["goals"]]
    failures = [f"{each['name']}: {each['reason']}" for each in parts if each["state"] == "failed"]
    return finite(
        {
            **{name: told.get(name) for name in ("commit", "quick", "minutes", "machine", "started", "ended")},
            "seconds": sum(each["about"].get("seconds", 0) for each in parts),
            "goals": {"met": goals.count("met"), "missed": goals.count("MISSED")},
            "failures": failures,
            "benches": parts,
        }
    )


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def part(bench: Bench, result: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    runs = result.get("runs", [])
    failed = result.get("failed", [])
    reason = ""
    if about and not result:
        reason = about.get("last_line", "") or "no result"
    elif failed:
        reason = f"no figures of {', '.join(failed)}"
    return {
        "name": bench.name,
        "title": bench.title,
        "state": "failed" if reason else "done" if result else "not run",
        "reason": reason,
        "about": about,
        "quiet": bool(runs) and all(run["figures"]["others"] <= QUIET for run in runs),
        "sizes": result.get("sizes", {}),
        "settings": result.get("settings", {}),
        "figures": bench.figures,
        "rows": [row(runs, provider) for provider in medians_of(runs)],
        "state_part": result.get("state_part", {}),
        "goals": [goal for goal in result.get("goals", []) if goal["verdict"] != "not measured"],
        "sheets": result.get("sheets", []),
        "drawn": [{"provider": run["provider"], **drawn} for run in runs if (drawn := what_is_drawn(run))],
    }


def what_is_drawn(run: dict[str, Any]) -> dict[str, Any]:
    return {name: run[name] for name in DRAWN if name in run}


def row(runs: list[dict[str, Any]], provider: str) -> dict[str, Any]:
    every = figures_of(runs, provider)
    return {
        "provider": provider,
        "runs": len(next(iter(every.values()))),
        "median": medians_of(runs)[provider],
        "least": {name: min(values) for name, values in every.items()},
        "most": {name: max(values) for name, values in every.items()},
    }


def finite(value: Any) -> Any:
    """JSON knows no number that is none."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
