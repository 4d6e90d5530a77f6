"""Lives of `job.py`: killed at random moments, and at the end one that takes in all that is left."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ..drill.lives import SEED
from ..drill.tally import Tally
from .feeds import Feed
from .orders import Orders
from .process import Process
from .rows import Row, final_state, make_rows, results

JOB = (sys.executable, "-m", "integration.systems.job")


class Server(Protocol):
    """A broker or a database, whose data outlives its process."""

    process: Any

    def start(self) -> Process:
        """Returns when it answers."""


class Lives:
    """Of one checkpoint, one after the other; logs and orders are numbered files in a folder.

    Attributes:
        faults: that the lives have had so far.
    """

    def __init__(
        self,
        folder: Path,
        rows: list[Row],
        orders: Orders,
        tally: Tally,
        command: Sequence[str] = JOB,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`command` takes the path of the orders."""
        self.folder = folder
        self._command = command
        self._environment = {"SPARK_LOCAL_IP": "127.0.0.1", **(environment or {})}
        self.rows = rows
        self.orders = orders
        self.faults = 0
        self.tally = tally
        self._chance = random.Random(SEED)
        self._count = 0

    def start(self, **changes: object) -> Process:
        """The job, with these orders instead of those that it has for all its lives."""
        orders = self.folder / f"life-{self._count}.json"
        self._count += 1
        replace(self.orders, **changes).write(orders)  # type: ignore[arg-type]
        return Process([*self._command, str(orders)], orders.with_suffix(".log"), environment=self._environment)

    def move(self, checkpoint: str) -> None:
        """From now on they have this folder, which a command made of the one before."""
        self.orders = replace(self.orders, checkpoint=checkpoint)

    def give(self, feed: Feed, rows: int) -> None:
        """So many more, to be read and to come out."""
        more = make_rows(rows, len(self.rows))
        feed.send(more)
        self.rows += more

    def kill_one(self, batches: int) -> None:
        """SIGKILL to the driver, some moments after so many batches of its own."""
        with self.start() as life:
            life.wait_until(lambda: life.text.count("\nbatch ") >= batches, what=f"{batches} batches")
            time.sleep(self._chance.uniform(0, 0.5))
            assert life.running, f"seed {SEED}: {life.complaint}"
        self.tally.kills += 1
        self.faults += 1

    def stall_and_restart(self, server: Server) -> None:
        """One life, in which a server stops for five seconds, and later dies and is started again."""
        with self.start() as life:
            life.wait_for("\nbatch 2\n")
            server.process.signal(signal.SIGSTOP)
            time.sleep(5)
            server.process.signal(signal.SIGCONT)
            life.wait_for("\nbatch 5\n")
            server.process.kill()
            time.sleep(3)
            server.start()
            life.wait_for("\nbatch 10\n")
        self.faults = 2

    def end(self, **changes: object) -> str:
        """Takes in the rest; the state that is then in the store is that of plain Python. What it printed."""
        with self.start(ends=True, **changes) as life:
            assert life.wait() == 0, f"seed {SEED}: {life.complaint}"
            found = json.loads(Path(self.orders.state).read_text())
            self.tally.compare(f"seed {SEED}, state in {life.log}", found, final_state(self.rows))
            return life.text

    def check(self, found: Iterable[tuple[object, ...]]) -> None:
        """All of the output: each row once, with what its key had then."""
        self.tally.compare(f"seed {SEED}, output of {self.folder}", found, map(tuple, results(self.rows)))
        self.tally.faults += self.faults
