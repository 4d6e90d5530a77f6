# mypy: disable-error-code="import-not-found"
"""docs/benchmarks.md says what the recorded results say, and no quick or broken run is recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from snapline_bench import published, record
from snapline_bench.bench import AGGREGATION, BENCHES

MACHINE = {"cores": 2, "memory_gb": 24, "python": "3.11", "spark": "4.2.0"}


def run(provider: str, cpu: float) -> dict[str, Any]:
    figures = dict.fromkeys(AGGREGATION.figures, 1.0) | {"cpu_us_event": cpu, "others": 0.1}
    return {"provider": provider, "rep": 0, "figures": figures}


def result(quick: bool = False, failed: tuple[str, ...] = ()) -> dict[str, Any]:
    goal = {"figure": "cpu_us_event", "of": "snapline", "part": "whole", "against": "hdfs"}
    return {
        "bench": "aggregation",
        "quick": quick,
        "failed": list(failed),
        "sizes": {},
        "machine": MACHINE,
        "state_part": {},
        "sheets": [],
        "runs": [run("hdfs", 8.0), run("snapline", 6.0)],
        "goals": [
            {**goal, "limit": 1.0, "is": 0.75, "verdict": "met"},
            {**goal, "limit": 0.5, "is": 0.75, "verdict": "MISSED"},
            {**goal, "limit": 1.0, "is": None, "verdict": "not measured"},
        ],
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(record, "FOLDER", tmp_path / "recorded")
    monkeypatch.setattr(record, "EARLIER", tmp_path / "recorded" / "earlier.md")
    return tmp_path


def test_a_recorded_run_is_on_the_page(folder: Path) -> None:
    record.record(AGGREGATION, result(), "bench/run aggregation", "abc")
    page = published.page(record.recorded())
    assert "1 goals are met, 1 are missed." in page
    missed, met = page.split("## Met goals")
    assert "| 6 (`snapline`) | `hdfs` | 8 | 0.75 | ≤ 0.5 | **missed** |" in missed
    assert "| 6 (`snapline`) | `hdfs` | 8 | 0.75 | ≤ 1 | met |" in met
    assert "`bench/run aggregation`" in page
    assert "commit abc: 2 cores, 24 GB" in page


def test_a_bar_in_a_cell_does_not_end_the_cell() -> None:
    assert published.table(["a"], [["x | y"]]).splitlines()[-1] == r"| x \| y |"


@pytest.mark.parametrize("wrong", [result(quick=True), result(failed=("hdfs",))])
def test_a_look_and_a_broken_run_are_not_recorded(folder: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="not recorded"):
        record.record(AGGREGATION, wrong, "bench/run aggregation", "abc")
    assert not record.FOLDER.exists()


def test_the_page_is_that_of_the_recorded_results() -> None:
    assert published.PAGE.read_text() == published.page(record.recorded()), "run scripts/pages"


def test_earlier_figures_end_the_page(folder: Path) -> None:
    record.record(AGGREGATION, result(), "bench/run aggregation", "abc")
    record.EARLIER.write_text("## Earlier figures\n")
    assert published.page(record.recorded()).endswith("\n## Earlier figures\n")


def test_every_recorded_result_is_of_a_bench_that_there_is() -> None:
    named = {path.stem: json.loads(path.read_text())["name"] for path in record.FOLDER.glob("*.json")}
    assert all(stem == name and name in BENCHES for stem, name in named.items())
