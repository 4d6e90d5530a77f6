"""One run of the Spark job as a process group of its own, which can be killed for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from io import BufferedReader
from pathlib import Path
from typing import cast

JOB = Path(__file__).with_name("job.py")


class JobProcess:
    """`python job.py …` and the JVM it starts, in one process group.

    What they print goes through a pipe into the log. Both hold its other end, so its end of file proves that both are
    gone: the Python process alone could be waited for, the JVM could not.
    """

    def __init__(self, arguments: list[str], log: Path) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, str(JOB), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.log = log
        self._pump = threading.Thread(target=self._copy_output, daemon=True)
        self._pump.start()

    @property
    def group(self) -> int:
        """The number of the process group, which is that of its first process."""
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def kill(self) -> int:
        """SIGKILL to the whole group. Returns the exit status, -9, when no process of the group is left."""
        if self.running:
            os.killpg(self.group, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        """The exit status, once the process and the JVM have ended."""
        status = self._popen.wait()
        self._pump.join(timeout=30)
        if self._pump.is_alive():
            os.killpg(self.group, signal.SIGKILL)
            raise RuntimeError(f"a process of group {self.group} has outlived its first process")
        return status

    def _copy_output(self) -> None:
        output = cast(BufferedReader, self._popen.stdout)
        with self.log.open("wb", buffering=0) as log:
            while some := output.read1():
                log.write(some)
