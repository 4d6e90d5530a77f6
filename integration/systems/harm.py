"""Lives in which a driver, its executors and the server of the sink are killed at random moments."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

from ..cluster.test_cluster import executors
from ..drill.lives import SEED
from .feeds import Feed
from .life import Lives, Server
from .process import Process

ROWS_A_BATCH = 25
WITHOUT_PROGRESS = 60.0
"""Seconds after which the next process is killed, though no batch came to its end."""


class Harm:
    """Owns the processes of these lives, and those of the server.

    Attributes:
        kills: by the kind of process.
    """

    def __init__(self, lives: Lives, feed: Feed, server: Server) -> None:
        self._lives = lives
        self._feed = feed
        self._server = server
        self._chance = random.Random(SEED)
        self._begun: list[Process] = []
        self.kills: Counter[str] = Counter()

    def kill(self, times: int) -> None:
        """So many processes, in as many lives as it takes. Afterwards the server runs, and no life does."""
        try:
            while self.kills.total() < times:
                self._begun.append(self._lives.start())
                self._live(self._begun[-1], times)
        finally:
            self._end_lives(0)
        self._lives.faults = self.kills.total()

    def _live(self, life: Process, times: int) -> None:
        """Until its driver is killed, or there were kills enough."""
        batches = 0
        while self.kills.total() < times:
            more = self._chance.randint(0, 3)
            self._give(more)
            self._wait(life, batches + more)
            self._end_lives(1)
            time.sleep(self._chance.uniform(0, 0.6))
            batches = life.text.count("\nbatch ")
            there = executors(life.pid)
            # With executors of its own a driver takes half a minute to begin.
            weights = {"driver": 1, "server": 2, "executor": 5} if there else {"driver": 1, "server": 1}
            (victim,) = self._chance.choices([*weights], [*weights.values()])
            if victim == "executor":
                os.kill(self._chance.choice(there), signal.SIGKILL)
                self._count("executor")
            elif victim == "driver":
                self._kill_driver(life)
                return
            else:
                self._server.process.kill()
                self._count("server")
                time.sleep(self._chance.uniform(0, 1.5))
                both = self._chance.random() < 0.3
                if both:
                    self._kill_driver(life)
                self._server.start()
                if both:
                    return

    def _give(self, batches: int) -> None:
        for _ in range(batches):
            self._lives.give(self._feed, ROWS_A_BATCH)

    def _wait(self, life: Process, batches: int) -> None:
        deadline = time.monotonic() + WITHOUT_PROGRESS

        def is_time() -> bool:
            done = "\nstarted\n" in life.text and life.text.count("\nbatch ") >= batches
            return done or time.monotonic() > deadline

        life.wait_until(is_time, what=f"{batches} batches")

    def _kill_driver(self, life: Process) -> None:
        """Half of the times its executors are left to find that out, and may meet the next driver's."""
        left = executors(life.pid)
        if left and self._chance.random() < 0.5:
            # The driver's JVM is what started them.
            for pid in (life.pid, parent(left[0])):
                os.kill(pid, signal.SIGKILL)
        else:
            life.kill()
        self._count("driver")

    def _count(self, victim: str) -> None:
        self.kills[victim] += 1
        self._lives.tally.kills += 1

    def _end_lives(self, but: int) -> None:
        """All but so many of the newest."""
        while len(self._begun) > but:
            self._begun.pop(0).kill()


def parent(pid: int) -> int:
    # The name before is in brackets, and may have any character.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
