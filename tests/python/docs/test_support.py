"""docs/support.md is the table of what ran, and tells what failed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from .pages import TOP
from .support_page import COLUMNS, KEPT, PAGE, Run, newest, page, read

PASSED = Run("jvm", "4.2.0", "3.11.7", "17.0.15", "3.5.0", "passed", "2026-11-01", "abc")


def test_the_page_is_made_of_what_is_kept() -> None:
    assert PAGE.read_text() == page(read(KEPT))
    assert read(KEPT) == newest(read(KEPT))


def test_a_later_run_stands_for_an_earlier_one_and_failures_show() -> None:
    failed = PASSED._replace(outcome="failed", day="2026-11-02")
    assert newest([PASSED, failed]) == [failed]
    assert "| 4.2.0 | 3.11.7 | 17.0.15 | 3.5.0 | failed, 2026-11-02 |" in page([failed])
    assert "failed," not in page(newest([failed, PASSED]))


def test_one_failed_step_of_a_column_is_not_hidden_by_another() -> None:
    line = PASSED._replace(step="line")
    assert "failed, 2026-11-03" in page([line, line._replace(step="real-time", outcome="failed", day="2026-11-03")])


def test_versions_are_in_the_order_of_numbers() -> None:
    runs = [PASSED._replace(python=version) for version in ("3.9.1", "3.13.0", "3.10.13")]
    assert [run.python for run in newest(runs)] == ["3.9.1", "3.10.13", "3.13.0"]


def test_each_step_that_scripts_note_has_a_column() -> None:
    known = {name for names in COLUMNS.values() for name in names}
    noted: set[str] = set()
    for script in ("integration/run", "scripts/wheel"):
        noted |= set(
            re.findall(r"^\s*(?:(?:ran|only) |step=)([a-z-]+)(?= |$)", (TOP / script).read_text(), re.MULTILINE)
        )
    assert noted
    assert noted <= known


def test_a_script_notes_its_step_with_all_versions(tmp_path: Path) -> None:
    script = 'source scripts/env.sh; cd "$1"; VENV=$2; ran jvm 0; ran python 1'
    python = Path(sys.executable)
    subprocess.run(["bash", "-c", script, "-", str(tmp_path), str(python.parent.parent)], cwd=TOP, check=True)
    runs = read(tmp_path / "build/support.tsv")
    assert [(run.step, run.outcome) for run in runs] == [("jvm", "passed"), ("python", "failed")]
    assert all(re.fullmatch(r"\d+\.\d+[.\w-]*", version) for run in runs for version in run.versions), runs
