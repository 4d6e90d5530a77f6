"""Lives of the job: each is a process group of its own, which ends by itself or by SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .expected import Batch

JOB = Path(__file__).with_name("job.py")
LIFE_SECONDS = 300
"""No life lasts as long: something hangs."""


class Plans:
    """What the queries' offset logs have said of their batches. They are purged: somebody has to look all the time."""

    def __init__(self, checkpoints: Path, before: Plans | None = None) -> None:
        self._checkpoints = checkpoints
        self._batches: dict[str, dict[int, Batch]] = {}
        if before is not None:
            before.look()
            self._batches = {name: dict(batches) for name, batches in before._batches.items()}

    def look(self) -> None:
        for path in self._checkpoints.glob("*/offsets/[0-9]*"):
            query = self._batches.setdefault(path.parent.parent.name, {})
            number = int(path.name)
            if number not in query:
                try:
                    _, settings, offset = path.read_text().splitlines()
                except (FileNotFoundError, ValueError):
                    continue  # it is hidden right now
                query[number] = Batch(json.loads(offset)["logOffset"], json.loads(settings)["batchWatermarkMs"])

    def whole(self) -> dict[str, list[Batch]]:
        self.look()
        for name, batches in self._batches.items():
            assert sorted(batches) == list(range(len(batches))), (
                f"{self._checkpoints}: {name} was not looked at in time"
            )
        return {name: [batches[number] for number in sorted(batches)] for name, batches in self._batches.items()}


class Life:
    """`job.py …` and its JVM. What both print goes into `log`."""

    def __init__(self, arguments: list[str], log: Path, *plans: Plans) -> None:
        self.log = log
        self._plans = plans
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            self._popen = subprocess.Popen(
                [sys.executable, str(JOB), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _look(self) -> None:
        for plans in self._plans:
            plans.look()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def said(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")

    def wait_for(self, text: str) -> bool:
        """False: it ended without having said so."""
        deadline = time.monotonic() + LIFE_SECONDS
        while not self.said(text):
            if not self.running:
                return self.said(text)
            assert time.monotonic() < deadline, f"{self.log}: no '{text}'"
            self._look()
            time.sleep(0.02)
        return True

    def kill_after(self, events: int, seconds: float, checkpoints: Path) -> bool:
        """SIGKILL to the whole group, so long after so many entries of logs; False: it has ended by itself before."""
        seen = entries(checkpoints)
        deadline = time.monotonic() + LIFE_SECONDS
        new: set[Path] = set()
        while len(new) < events and self.running:
            assert time.monotonic() < deadline, f"{self.log}: {len(new)} of {events}"
            time.sleep(0.01)
            self._look()
            there = entries(checkpoints)
            new, seen = new | (there - seen), seen & there
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return True
        return False

    def kill(self) -> None:
        if self.running:
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        # The JVM is not our child: it is gone when nobody of the group can be signalled.
        while True:
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)

    def end(self) -> int:
        """Its own end."""
        deadline = time.monotonic() + LIFE_SECONDS
        while self.running:
            if time.monotonic() > deadline:
                self.kill()
            self._look()
            time.sleep(0.02)
        return self._popen.wait()


def entries(checkpoints: Path) -> set[Path]:
    """Of the logs of all queries. A replay hides them and shows them again."""
    return {*checkpoints.glob("*/offsets/[0-9]*"), *checkpoints.glob("*/commits/[0-9]*")}
