"""Lives of `job.py`: killed at random moments, and at the end one that takes in all that is left."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .orders import Orders
from .process import Process
from .rows import Row, final_state

JOB = (sys.executable, "-m", "integration.systems.job")
SEED = int(os.environ.get("SNAPLINE_SEED") or random.randrange(10**6))


class Lives:
    """Of one checkpoint, one after the other; logs and orders are numbered files in a folder."""

    def __init__(
        self,
        folder: Path,
        rows: list[Row],
        orders: Orders,
        command: Sequence[str] = JOB,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`command` takes the path of the orders."""
        self.folder = folder
        self._command = command
        self._environment = {"SPARK_LOCAL_IP": "127.0.0.1", **(environment or {})}
        self.rows = rows
        self.orders = orders
        self._chance = random.Random(SEED)
        self._count = 0

    def start(self, **changes: object) -> Process:
        """The job, with these orders instead of those that it has for all its lives."""
        orders = self.folder / f"life-{self._count}.json"
        self._count += 1
        replace(self.orders, **changes).write(orders)  # type: ignore[arg-type]
        return Process([*self._command, str(orders)], orders.with_suffix(".log"), environment=self._environment)

    def kill_one(self, batches: int) -> None:
        """SIGKILL to the driver, some moments after so many batches of its own."""
        with self.start() as life:
            life.wait_until(lambda: life.text.count("\nbatch ") >= batches, what=f"{batches} batches")
            time.sleep(self._chance.uniform(0, 0.5))
            assert life.running, f"seed {SEED}: {life.complaint}"

    def end(self, **changes: object) -> str:
        """Takes in the rest; the state that is then in the store is that of plain Python. What it printed."""
        with self.start(ends=True, **changes) as life:
            assert life.wait() == 0, f"seed {SEED}: {life.complaint}"
            found = json.loads(Path(self.orders.state).read_text())
            assert found == final_state(self.rows), f"seed {SEED}: {life.log}"
            return life.text
