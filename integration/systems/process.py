"""A process that a test starts: a group of its own, which the test ends."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ..drill.lives import wait_for_group

ROOT = Path(__file__).parents[2]
POLL = 0.05
PATIENCE = 600.0
"""Seconds: on a machine that does much else, a batch takes many. Nothing waits so long but for a fault."""


class Process:
    """Owns the group: it is gone when the `with` block is left. What it prints goes to `log`, after what is there."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        input: bool = False,
        user: int | None = None,
    ) -> None:
        self.log = log
        self._from = log.stat().st_size if log.exists() else 0
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                list(command),
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE if input else subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
            )
        # A system that fails while it starts is left by no `with` block.
        atexit.register(self.signal, signal.SIGKILL)

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    @property
    def text(self) -> str:
        """What this process has printed."""
        with self.log.open("rb") as file:
            file.seek(self._from)
            return file.read().decode(errors="replace")

    def say(self, line: str) -> None:
        """Into its standard input."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{line}\n".encode())
        self._popen.stdin.flush()

    def wait_for(self, text: str, seconds: float = PATIENCE) -> None:
        self.wait_until(lambda: text in self.text, seconds, text)

    def wait_until(
        self, condition: Callable[[], bool], seconds: float = PATIENCE, what: str = "what was awaited"
    ) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.running or condition(), f"ended before {what!r}: {self.complaint}"
            assert time.monotonic() < deadline, f"no {what!r} in {seconds:.0f} s: {self.complaint}"
            time.sleep(POLL)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its own end, and that of all it started."""
        self.wait_until(lambda: not self.running, seconds, "its end")
        status = self._popen.wait()
        self._wait_for_group()
        return status

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        self.signal(signal.SIGKILL)
        self._popen.wait()
        if self._popen.stdin is not None:
            self._popen.stdin.close()
        self._wait_for_group()

    def signal(self, number: signal.Signals) -> None:
        """To the whole group; nothing if it is gone."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return

    @property
    def complaint(self) -> str:
        return f"{self.log}\n" + "\n".join(line[:400] for line in self.text.splitlines()[-30:])

    def _wait_for_group(self) -> None:
        wait_for_group(self.pid, 60)
        atexit.unregister(self.signal)  # its number may be another's from now on


def free_ports(count: int) -> list[int]:
    """Nobody listens there now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
