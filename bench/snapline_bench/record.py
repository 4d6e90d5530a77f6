"""Results that are published: bench/recorded/NAME.json holds the newest full run of a bench that was recorded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Any

from snapline_bench import venv
from snapline_bench.bench import Bench
from snapline_bench.summary import finite, part

FOLDER = venv.BENCH / "recorded"
#: Figures of runs from before results were recorded, as Markdown.
EARLIER = FOLDER / "earlier.md"


def record(bench: Bench, result: dict[str, Any], command: str, commit: str) -> Path:
    """Keeps a result, in the place of the one before.

    Args:
        result: the JSON object that ``bench/run NAME`` stores.
        command: the command that made it.
        commit: the tree that it ran on.

    Raises:
        SystemExit: the run had the quick sizes, or a provider of it failed.
    """
    if result["quick"] or result["failed"]:
        raise SystemExit("a run with quick sizes, or with a provider that failed, is not recorded")
    found = part(bench, result, {})
    kept = {
        name: found[name] for name in ("name", "title", "figures", "rows", "state_part", "goals", "sheets", "sizes")
    }
    kept |= {"command": command, "commit": commit, "date": time.strftime("%Y-%m-%d"), "machine": result["machine"]}
    kept["other_load"] = round(median(run["figures"]["others"] for run in result["runs"]), 2)
    path = FOLDER / f"{bench.name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(finite(kept), indent=1) + "\n")
    return path


def recorded() -> list[dict[str, Any]]:
    """All of them, by name."""
    return [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
