"""MariaDB in a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .process import Process, free_ports


class MariaDb:
    """A server whose data outlives its process. Its user is root, without a password."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("mariadb-install-db") is None:
            pytest.skip("MariaDB not found. Install it (Debian: apt install mariadb-server).")
        (self.port,) = free_ports(1)
        self._folder = folder
        install = ["mariadb-install-db", "--no-defaults", *self._data, "--auth-root-authentication-method=normal"]
        subprocess.run(install, check=True, capture_output=True)
        self.process: Process | None = None

    @property
    def _data(self) -> list[str]:
        return [f"--datadir={self._folder / 'data'}", "--user=root"]

    @property
    def url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.port}/test"

    def start(self) -> Process:
        """Returns when it answers."""
        own = [f"--socket={self._folder / 'socket'}", f"--pid-file={self._folder / 'pid'}", f"--port={self.port}"]
        command = ["mariadbd", "--no-defaults", *self._data, *own, "--bind-address=127.0.0.1"]
        self.process = Process(command, self._folder / "mariadb.log")
        self.process.wait_for("ready for connections", 60)
        return self.process

    def run(self, statement: str) -> list[list[str]]:
        """The rows, as text."""
        client = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "--batch", "-N", "test"]
        done = subprocess.run([*client, "-e", statement], check=True, capture_output=True, text=True)
        return [line.split("\t") for line in done.stdout.splitlines()]
