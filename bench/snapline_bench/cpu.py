"""CPU time of this process and everything it started, and of the rest of the machine (Linux: /proc)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Reading:
    """Counters at one moment; the difference of two readings is what happened in between."""

    at: float
    tree: float
    machine: float

    def since(self, earlier: Reading) -> Usage:
        tree = self.tree - earlier.tree
        elapsed = self.at - earlier.at
        others = max(0.0, self.machine - earlier.machine - tree)
        return Usage(elapsed, tree, others / elapsed if elapsed > 0 else 0.0)


@dataclass(frozen=True)
class Usage:
    """`others` is how many cores everything outside our process tree kept busy: the noise of a run."""

    elapsed_s: float
    cpu_s: float
    others: float


def others_of(readings: Sequence[Reading]) -> float:
    """The median of `others` between each two readings, in cores.

    What a process has used that nobody waits for, as a JVM whose Python has ended, is gone from the tree with it: from
    the first to the last reading that would pass for other work. Needs readings that are close to each other.
    """
    return median(after.since(before).others for before, after in pairwise(readings))


def read() -> Reading:
    return Reading(time.monotonic(), tree_seconds(os.getpid()), machine_seconds())


def settle(most_s: float = 60.0, step_s: float = 1.0, idle: float = 0.1) -> bool:
    """Waits until this process and everything it started does next to nothing.

    A first batch leaves work behind it, as the snapshot of all its rows, which is no part of the batches that follow.

    Args:
        idle: so many cores are nothing, for two steps.

    Returns:
        Whether that came within `most_s`.
    """
    deadline = time.monotonic() + most_s
    quiet, before = 0, read()
    while quiet < 2 and time.monotonic() < deadline:
        time.sleep(step_s)
        after = read()
        usage = after.since(before)
        quiet = quiet + 1 if usage.cpu_s < idle * usage.elapsed_s else 0
        before = after
    return quiet == 2


def tree_seconds(root: int) -> float:
    """User and system time of `root` and its descendants, those included that have ended and been waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            stat = (process / "stat").read_text()
        except OSError:
            continue  # it ended while we were looking
        fields = stat.rpartition(")")[2].split()
        parents[int(process.name)] = int(fields[1])
        ticks[int(process.name)] = sum(int(field) for field in fields[11:15])
    return sum(ticks[pid] for pid in ticks if descends(pid, root, parents)) / TICKS


def descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid not in (root, 0):
        pid = parents.get(pid, 0)
    return pid == root


def machine_seconds() -> float:
    """Busy time of all cores: user, nice, system, irq and softirq, without idle and iowait."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return sum(int(fields[i]) for i in (0, 1, 2, 5, 6)) / TICKS
