"""One driver of the soak, from outside: a process group that is started, watched, and killed or told to end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from snapline_bench import sampling


class Life:
    """
    Owns the process group, and the local folder, which goes with it.

    Args:
        orders: of the query, beside the places of what it reads and writes.
        folder: of the soak: the checkpoint and the output are those of all lives.
    """

    def __init__(self, number: int, orders: dict[str, Any], folder: Path) -> None:
        self.number = number
        self.local = folder / f"local-{number}"
        self.said = folder / f"said-{number}.json"
        self._stop = folder / f"stop-{number}"
        self._checkpoint = folder / "checkpoint"
        self.reached = self.batches()
        orders = {
            **orders,
            "local": str(self.local),
            "said": str(self.said),
            "stop": str(self._stop),
            "output": str(folder / "output.db"),
            "checkpoint": str(self._checkpoint),
        }
        told = folder / f"orders-{number}.json"
        told.write_text(json.dumps(orders))
        self.started = time.monotonic()
        self.went_on: float | None = None
        self._last: dict[str, Any] = {}
        self._popen = subprocess.Popen(
            [sys.executable, "-m", "snapline_bench.soak_life", str(told)], cwd=folder, start_new_session=True
        )

    def batches(self) -> int:
        """That are committed; fewer for a while, when a replay hides entries of the log."""
        try:
            names = os.listdir(self._checkpoint / "commits")  # noqa: PTH208
        except FileNotFoundError:
            return 0
        return 1 + max((int(name) for name in names if name.isdigit()), default=-1)

    def look(self) -> None:
        """
        Raises:
            AssertionError: it has ended by itself.
        """
        assert self._popen.poll() is None, f"life {self.number} ended by itself with {self._popen.returncode}"
        if self.went_on is None and self.batches() > self.reached:
            self.went_on = time.monotonic()

    def sample(self) -> dict[str, Any]:
        """None: not said anew since the last time."""
        held = sampling.held(self._popen.pid)
        files, size = sampling.folder(self._checkpoint)
        now = json.loads(self.said.read_text()) if self.said.exists() else {}
        new, self._last = now if now != self._last else {}, now
        return {
            **asdict(held),
            "local_bytes": sampling.folder(self.local)[1],
            "checkpoint_files": files,
            "checkpoint_bytes": size,
            **{name: new.get(name) for name in ("heap", "rocksdb", "keys", "batch", "classes")},
        }

    def kill(self) -> None:
        # One that has ended by itself may have left a JVM.
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._gone()

    def end(self) -> None:
        self._stop.touch()
        assert self._popen.wait(timeout=300) == 0, f"life {self.number} did not end well"
        self._gone()

    def _gone(self) -> None:
        """Nobody of its group is left: then its local folder goes, as a cluster's node would remove it."""
        deadline = time.monotonic() + 60
        while True:
            try:
                os.killpg(self._popen.pid, 0)
            except ProcessLookupError:
                break
            assert time.monotonic() < deadline, f"life {self.number} left processes"
            time.sleep(0.05)
        shutil.rmtree(self.local, ignore_errors=True)
