"""Lives of a job that takes a folder, and says `started NAME` of each of its queries; and what all drills go by.

SNAPLINE_KILLS: how often a drill kills, instead of as often as it says itself. SNAPLINE_SEED: of the moments; a drill
prints it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 600
POLL = 0.02
SEED = int(os.environ.get("SNAPLINE_SEED") or random.randrange(10**6))


def kills(otherwise: int) -> int:
    """How often to kill."""
    return int(os.environ.get("SNAPLINE_KILLS") or otherwise)


def start(module: str, folder: Path, life: int, *more: str) -> tuple[subprocess.Popen[bytes], Path]:
    log = folder / f"life-{life:03}.log"
    command = [sys.executable, "-m", module, str(folder), *more]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    return process, log


def wait_for(process: subprocess.Popen[bytes], log: Path, started: int) -> None:
    """Until so many queries have begun, or recovered and begun."""
    deadline = time.monotonic() + LONGEST
    while log.read_text(errors="replace").count("started ") < started:
        if process.poll() is not None:
            # All that is there has been taken in; anything else is no end.
            assert process.returncode == 0, log.read_text()[-3000:]
            return
        if time.monotonic() > deadline:
            kill(process)
            pytest.fail(f"no query began in {LONGEST} s: {log.read_text()[-3000:]}")
        time.sleep(0.05)


def kill(process: subprocess.Popen[bytes]) -> None:
    """The whole group, and waits until its JVM is gone."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for_group(process.pid)


def wait_for_group(group: int, seconds: float = LONGEST) -> None:
    """Until nobody of it runs. The JVM is not our child: whoever adopts it may be late to clear away what has died.

    Raises:
        AssertionError: it does not end.
    """
    deadline = time.monotonic() + seconds
    while group in running_groups():
        assert time.monotonic() < deadline, f"group {group} does not end"
        time.sleep(POLL)


def running_groups() -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        # It may have ended since it was listed.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name before is in brackets, and may have any character.
            state, _, group, *_ = status.read_text(errors="replace").rpartition(") ")[2].split()
            if state not in "ZX":
                found.add(int(group))
    return found
