"""A worker whose function never comes back is gone soon after its task, its job, or its driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .processes import gone_in_time, is_alive, spinners

CHILD = Path(__file__).parent / "spinning.py"


def wait_for(what: Callable[[], object], log: Path, child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 150
    while not what():
        assert child.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < end, log.read_text()[-3000:]
        time.sleep(0.05)


@pytest.mark.parametrize("daemon", ["true", "false"], ids=["through the daemon", "by itself"])
def test_a_busy_worker_ends_with_its_query_its_job_and_its_driver(tmp_path: Path, daemon: str) -> None:
    log = tmp_path / "log"
    with log.open("wb") as errors:
        child = subprocess.Popen([sys.executable, str(CHILD), str(tmp_path), daemon], stderr=errors)
    pids: list[int] = []
    try:
        for name in ("stopped", "cancelled"):
            wait_for(lambda name=name: list(tmp_path.glob(f"{name}-*")), log, child)  # type: ignore[misc]
            assert (tmp_path / f"{name}-True").exists(), name
        wait_for(lambda: list((tmp_path / "killed").glob("spinner/*")), log, child)
        pids = spinners(tmp_path / "killed")
        assert all(map(is_alive, pids))
        # The JVM is the driver's child; nobody but these two is told.
        jvms = [int(each) for each in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()]
        assert jvms
        for pid in [*jvms, child.pid]:
            os.kill(pid, signal.SIGKILL)
        child.wait()
        assert gone_in_time(pids)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        for pid in filter(is_alive, pids):
            os.kill(pid, signal.SIGKILL)
