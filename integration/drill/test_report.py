"""The table of drills tells what went wrong: it would be worth nothing if it could not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .lives import ROOT
from .report import Run, read_run, table
from .tally import Tally


def test_rows_that_are_missing_surplus_or_others_are_wrong() -> None:
    tally = Tally()
    tally.compare("the same, in another order", [[1, "a"], [2, "b"], [2, "b"]], [[2, "b"], [1, "a"], [2, "b"]])
    assert (tally.rows, tally.wrong) == (3, 0)
    for found, wanted, wrong in (([1], [1, 2, 3], 2), ([1, 1], [1], 1), ([1, 5], [1, 2], 1), ([], [1], 1)):
        tally = Tally()
        with pytest.raises(AssertionError, match="rows are"):
            tally.compare("rows", found, [*found], wanted)
        assert (tally.rows, tally.wrong) == (len(found), wrong)


def test_counts_of_a_test_that_fails_are_in_the_report(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(
        "from integration.conftest import tally\n"
        "def test_good(tally):\n    tally.kills = 3\n    tally.compare('x', [1, 2], [1, 2])\n"
        "def test_bad(tally):\n    tally.faults = 1\n    tally.compare('x', [1, 2], [1, 3])\n"
    )
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-o", "junit_family=xunit1", f"--junitxml={report}", str(test)]
    status = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=ROOT, check=False, capture_output=True).returncode
    run = read_run("it", 7, 1.5, report, status)
    assert run.tally == Tally(modes=2, kills=3, faults=1, rows=4, wrong=1)
    assert len(run.failures) == 1
    assert run.failures[0].startswith("test_bad: ")


def test_pytest_that_does_not_come_to_its_end_is_a_failure(tmp_path: Path) -> None:
    run = read_run("it", 7, 1.5, tmp_path / "none.xml", 2)
    assert run.failures == ["pytest ended with status 2"]


def test_the_table_adds_up() -> None:
    runs = [
        Run("one", 1, 10.0, Tally(modes=12, kills=8, faults=96, rows=1000), [], []),
        Run("one", 2, 12.0, Tally(modes=12, kills=8, faults=96, rows=1000), [], []),
        Run("other", 1, 5.0, Tally(modes=2, faults=1, rows=50, wrong=1), ["test_x: 1 row"], []),
    ]
    lines = [line.split() for line in table(runs).splitlines()[1:]]
    assert lines[0] == ["one", "12", "2", "16", "192", "2,000", "0", "22"]
    assert lines[1] == ["other", "2", "1", "0", "1", "50", "1", "5", "1", "FAILED"]
    assert lines[2] == ["total", "14", "3", "16", "193", "2,050", "1", "27", "1", "FAILED"]
