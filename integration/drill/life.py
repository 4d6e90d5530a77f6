"""Lives of the job: each is a process group of its own, which ends by itself or by SIGKILL.

And what they leave behind, read without Spark.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq

JOB = Path(__file__).with_name("job.py")
LIFE_SECONDS = 300
"""No life lasts as long: something hangs."""


class Life:
    """`job.py …` and its JVM. What both print goes into `log`."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            self._popen = subprocess.Popen(
                [sys.executable, str(JOB), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

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
            time.sleep(0.02)
        return True

    def kill_after(self, seconds: float) -> bool:
        """SIGKILL to the whole group; False: it has ended by itself before."""
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
        watchdog = threading.Timer(LIFE_SECONDS, self.kill)
        watchdog.start()
        try:
            return self._popen.wait()
        finally:
            watchdog.cancel()


def rows_in_sqlite(path: Path) -> list[list[object]]:
    with sqlite3.connect(path) as db:
        return sorted(json.loads(row) for (row,) in db.execute("select row from rows"))


def rows_in_files(folder: Path) -> list[list[object]]:
    """Those that the sink's log names: what a batch that was cut short has written is none of it."""
    log = folder / "_spark_metadata"
    batches = {int(path.name.partition(".")[0]): path for path in log.iterdir() if path.name[0].isdigit()}
    compacted = [batch for batch, path in batches.items() if path.name.endswith(".compact")]
    names: set[str] = set()
    for batch, path in batches.items():
        if batch >= max(compacted, default=0):
            names |= {json.loads(line)["path"] for line in path.read_text().splitlines()[1:]}
    tables = [pq.read_table(folder / Path(name).name) for name in names]
    return sorted(list(row.values()) for table in tables for row in table.to_pylist())
