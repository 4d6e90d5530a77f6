# mypy: disable-error-code="import-not-found"
import json
from pathlib import Path
from typing import Any

import pytest
from snapline_bench.bench import BENCHES
from snapline_bench.everything import write
from snapline_bench.goal import Goal, Part
from snapline_bench.summary import finite, summary


def run(provider: str, rep: int, cpu: float, others: float = 0.1) -> dict[str, Any]:
    figures = dict.fromkeys(BENCHES["aggregation"].figures, 1.0)
    return {"provider": provider, "rep": rep, "figures": {**figures, "cpu_us_event": cpu, "others": others}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "run.json", {"commit": "c1", "quick": False, "machine": {"cores": 2}, "started": "now"})
    return tmp_path


def summed(folder: Path, *names: str) -> Any:
    found = summary(folder, [BENCHES[name] for name in names])
    json.dumps(found, allow_nan=False)
    return found


def test_rows_have_median_least_and_most(folder: Path) -> None:
    runs = [run("null", 0, 1), *(run("snapline", rep, cpu) for rep, cpu in enumerate((9, 2, 3)))]
    write(folder / "aggregation.json", {"runs": runs, "failed": []})
    (bench,) = summed(folder, "aggregation")["benches"]
    null, ours = bench["rows"]
    assert (null["provider"], null["runs"], ours["provider"], ours["runs"]) == ("null", 1, "snapline", 3)
    assert [ours[which]["cpu_us_event"] for which in ("median", "least", "most")] == [3, 2, 9]
    assert bench["quiet"]
    assert bench["title"].endswith(".")


def test_goals_are_counted_and_those_not_measured_left_out(folder: Path) -> None:
    goals = [
        {"figure": "cpu_us_event", "verdict": verdict} for verdict in ("met", "met", "MISSED", "-", "not measured")
    ]
    write(folder / "aggregation.json", {"runs": [run("snapline", 0, 1, others=2.0)], "failed": [], "goals": goals})
    found = summed(folder, "aggregation")
    assert found["goals"] == {"met": 2, "missed": 1}
    assert len(found["benches"][0]["goals"]) == 4
    assert not found["benches"][0]["quiet"]


def test_states(folder: Path) -> None:
    write(folder / "aggregation.json", {"runs": [run("snapline", 0, 1)], "failed": ["hdfs"]})
    write(folder / "restart.about.json", {"last_line": "it broke", "seconds": 2})
    found = summed(folder, "aggregation", "restart", "soak")
    assert [each["state"] for each in found["benches"]] == ["failed", "failed", "not run"]
    assert found["failures"] == ["aggregation: no figures of hdfs", "restart: it broke"]
    assert found["seconds"] == 2


def test_what_could_not_be_measured_is_null() -> None:
    assert finite({"a": [float("nan"), 1.0, float("inf")], "b": "nan"}) == {"a": [None, 1.0, None], "b": "nan"}


def test_no_number_meets_no_goal() -> None:
    goal = Goal("growth", Part.ABSOLUTE, "", 0.1)
    assert goal.verdict(goal.value({"snapline": {"growth": float("nan")}})) == "MISSED"
