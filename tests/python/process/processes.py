"""Processes of workers, as their functions have written them down."""

from __future__ import annotations

import time
from pathlib import Path

#: Spark's own workers are gone four seconds after a kill; a machine that is busy takes longer.
PATIENCE = 10.0


def spinners(folder: Path, deadline: float = 120.0) -> list[int]:
    """The processes of the functions that spin, once there is one."""
    end = time.monotonic() + deadline
    while not (found := [int(each.name) for each in folder.glob("spinner/*")]):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone_in_time(pids: list[int], patience: float = PATIENCE) -> bool:
    """Whether none of them is alive any more before that time is over."""
    end = time.monotonic() + patience
    while any(map(is_alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
