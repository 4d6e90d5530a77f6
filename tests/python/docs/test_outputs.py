"""What the pages show as output of commands is what they print, on the checkpoint that the page's example makes.

With SNAPLINE_WRITE_OUTPUTS=1 the pages are written anew instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..spark_jar import need_jar
from .outputs import normalised, run, shown, write
from .pages import code

WRITES = os.environ.get("SNAPLINE_WRITE_OUTPUTS") == "1"
PAGES = ["docs/checkpoints.md", "docs/savepoints.md"]
# Checkpoints come by the clock: with a long interval there is one at the first batch of each run, on any machine.
INTERVAL, LONG_INTERVAL = "interval=timedelta(seconds=10)", "interval=timedelta(hours=1)"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By command; the pages' commands in order, after the example of checkpoints.md."""
    need_jar()
    folder: Path = tmp_path_factory.mktemp("example")
    example = code("docs/checkpoints.md", "python")[0]
    assert INTERVAL in example
    (folder / "example.py").write_text(example if WRITES else example.replace(INTERVAL, LONG_INTERVAL))
    ran = subprocess.run([sys.executable, "example.py"], cwd=folder, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return {each.command: run(each.command, folder) for page in PAGES for each in shown(page)}


@pytest.mark.whole
@pytest.mark.parametrize("page", PAGES)
def test_outputs_are_those_of_today(page: str, printed: dict[str, str]) -> None:
    if WRITES:
        write(page, printed)
    there = list(shown(page))
    assert there
    for each in there:
        assert normalised(each.output) == normalised(printed[each.command]), f"{page}: {each.command}"


def test_only_what_is_another_in_every_run_is_passed_over() -> None:
    assert normalised("a  12,5 kB\n") != normalised("a  12,5\n")
    first = "Checkpoint c\n 8  checkpoint     30  11-21 18:00:23  1.4 s  21.5 kB  complete\n"
    second = " 7  checkpoint     24  11-21 18:00:05  812 ms  999 B  complete\n"
    assert normalised(first + second) == normalised(first)
    assert normalised(first) != normalised(first.replace("complete", "damaged"))
    assert normalised(first) != normalised(first.replace("  1.4 s", ""))
    assert normalised("loads 25-31, 40") == normalised("loads 3")
    assert normalised("query 5d3a0a0c-0f5e-4b4b-9a55-0d1f8e8d1c11") == ["query ID"]
