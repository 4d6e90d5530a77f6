"""Lives of the job: each is a process group of its own, which ends by itself or by SIGKILL."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .feed import Feed
from .lives import POLL, ROOT, wait_for_group
from .work import Orders

JOB = "integration.drill.job"
LIFE_SECONDS = 1200
"""No life lasts as long: something hangs."""
LOGS = ("offsets", "commits")


def environment_of_lives() -> dict[str, str]:
    """Without the JVM options of tests: a JVM has room for one archive of classes, and `job.py` names it."""
    return {name: value for name, value in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}


class Life:
    """`job.py` and its JVM. What both print goes into `log`; what it was told is beside it."""

    def __init__(
        self, orders: Orders, log: Path, feed: Feed | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.orders = orders
        self.log = log
        self._feed = feed
        log.parent.mkdir(parents=True, exist_ok=True)
        self._told = log.with_suffix(".json")
        orders.write(self._told)
        with log.open("wb") as out:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", JOB, str(self._told)],
                cwd=ROOT,
                env={**environment_of_lives(), **(environment or {})},
                stdin=subprocess.PIPE if orders.waits else subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def follow(self, orders: Orders, feed: Feed) -> None:
        """What a life that waits is to do, in the session that it has."""
        self.orders, self._feed = orders, feed
        orders.write(self._told)
        assert self._popen.stdin is not None, "it does not wait"
        # One that has died is found by whoever waits for what it says.
        with contextlib.suppress(BrokenPipeError), self._popen.stdin as told:
            told.write(b"\n")

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
        return self.wait_until(lambda: self.said(text)) or self.said(text)

    def wait_until(self, condition: Callable[[], bool]) -> bool:
        """False: it ended before."""
        deadline = time.monotonic() + LIFE_SECONDS
        while not condition():
            if not self.running:
                return False
            assert time.monotonic() < deadline, f"{self.log}: waited in vain"
            self._wait()
        return True

    def wait_after(self, events: int, seconds: float) -> bool:
        """So long after so many entries of logs, or after all that was given; False: it has ended by itself before."""
        seen = self._entries()
        new: set[Path] = set()

        def enough() -> bool:
            nonlocal seen, new
            there = self._entries()
            new, seen = new | (there - seen), seen & there
            return len(new) >= events or (self._feed is not None and self._feed.dry)

        moment = time.monotonic() + seconds if self.wait_until(enough) else 0
        return self.wait_until(lambda: time.monotonic() >= moment)

    def kill_after(self, events: int, seconds: float) -> bool:
        """SIGKILL to the whole group, when :meth:`wait_after` has; False: it has ended by itself before."""
        runs = self.wait_after(events, seconds) and self.running
        self.kill()
        return runs

    def kill_when(self, condition: Callable[[], bool]) -> bool:
        """SIGKILL to the whole group; False: it has ended by itself before."""
        runs = self.wait_until(condition) and self.running
        self.kill()
        return runs

    def kill(self) -> None:
        if self.running:
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        wait_for_group(self.pid)

    def end(self) -> int:
        """Its own end, and its JVM's."""
        deadline = time.monotonic() + LIFE_SECONDS
        while self.running:
            if time.monotonic() > deadline:
                self.kill()
            self._wait()
        status = self._popen.wait()
        wait_for_group(self.pid)
        return status

    def _wait(self) -> None:
        if self._feed is not None:
            self._feed.look()
        time.sleep(POLL)

    def _entries(self) -> set[Path]:
        """Of the logs of all queries. A replay hides them and shows them again."""
        folders = [work.checkpoint(query) / log for work in self.orders.works for query in work.queries for log in LOGS]
        return {path for folder in folders for path in folder.glob("[0-9]*")}
