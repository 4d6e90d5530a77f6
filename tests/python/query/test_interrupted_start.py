"""A start whose replay hangs in the user's code can be stopped: by the keyboard, and by the query's own stop."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..process.processes import spinners


@pytest.mark.whole
@pytest.mark.parametrize(
    ("how", "expected"),
    [("keyboard", ["interrupted 0 True", "rows [0, 1]"]), ("stop", ["stopped True 0 True"])],
)
def test_a_replay_that_hangs_is_stopped(root: Path, tmp_path: Path, how: str, expected: list[str]) -> None:
    command = [sys.executable, "-m", "tests.python.query.interrupted", str(tmp_path), how]
    log = tmp_path / "log"
    with log.open("wb") as errors:
        child = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        if how == "keyboard":
            spinners(tmp_path)
            child.send_signal(signal.SIGINT)
        try:
            out, _ = child.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            child.kill()
            pytest.fail(log.read_text()[-3000:])
    finally:
        child.kill()
        child.wait()
    assert out.splitlines() == [*expected, "end"], log.read_text()[-3000:]
