"""Rows of a megabyte pass a driver whose heap is small: what travels together is bounded in bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_300_rows_of_a_megabyte() -> None:
    child = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "wide_rows.py")], capture_output=True, text=True, timeout=300
    )
    assert child.returncode == 0, child.stderr[-3000:]
    assert child.stdout.splitlines() == [f"{k} 100 100 100000000 10 100" for k in range(3)]
