# mypy: disable-error-code="import-not-found"
"""The README: short, true to the generated figures, and with a program that runs as it stands."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from snapline_bench.readme_table import figures

from .pages import TOP, code, prose, sections, text

MOST_WORDS = 800
MOST_LINES = 15
DEADLINE_S = 120


def test_it_is_read_in_four_minutes() -> None:
    assert len(text("README.md").split()) <= MOST_WORDS


def test_every_figure_stands_in_the_generated_page() -> None:
    figures = sections("README.md", 2)["Figures"]
    cells = [line.split("|")[2:-1] for line in figures.splitlines() if line.startswith("|")][2:]
    told = set(re.findall(r"\d(?:[\d,.]*\d)?", " ".join(cell for row in cells for cell in row)))
    assert len(told) >= 10
    known = set(re.findall(r"\d(?:[\d,.]*\d)?", prose("docs/benchmarks.md")))
    assert told <= known, f"not on docs/benchmarks.md: {sorted(told - known)}"


def test_its_bars_are_those_of_its_table() -> None:
    """`bench/run page` draws them."""
    drawing = text("docs/images/figures.svg")
    rows = figures(TOP / "README.md")
    assert len(rows) >= 6
    for row in rows:
        assert f"{row.ratio:.2g}x" in drawing
        assert html.escape(row.title, quote=False) in drawing


def test_the_program_runs_as_it_stands(tmp_path: Path) -> None:
    """Until its second batch is printed; it would go on for ever."""
    program = code("README.md", "python")[0]
    assert len([line for line in program.splitlines() if line]) <= MOST_LINES
    (tmp_path / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": str(TOP / "python" / "src"), "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        timer = threading.Timer(DEADLINE_S, process.kill)
        timer.start()
        assert process.stdout is not None
        printed = ""
        try:
            for line in process.stdout:
                printed += line
                if re.match(r"\|\s*\d+\|\s*\d+\|", line):
                    break
        finally:
            timer.cancel()
            process.kill()
    assert re.search(r"\|user\|clicks\|\n.*\n\|\s*\d+\|\s*\d+\|", printed), printed[-3000:]
