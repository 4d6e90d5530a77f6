from __future__ import annotations

import subprocess
import sys

from snapline import __version__
from snapline.spark_line import LINES

from .conftest import Run


def test_version(run: Run) -> None:
    assert run("--version").out == f"snapline {__version__} for Spark {LINES}\n"


def test_wrong_use(run: Run) -> None:
    assert run("unheard").code == 2
    assert run("checkpoints", "list").code == 2


def test_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "snapline", "--help"], capture_output=True, text=True, check=True)
    assert "doctor" in done.stdout
    assert "checkpoints" in done.stdout


def test_looking_into_a_checkpoint_takes_no_pyspark() -> None:
    code = "import sys, snapline.cli.main; sys.exit(any(name.startswith(('pyspark', 'py4j')) for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
