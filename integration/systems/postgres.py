"""PostgreSQL in a folder of its own, as a user without rights."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .process import Process, free_ports

NOBODY = "nobody"


class Postgres:
    """A server whose data outlives its process. Not for root: then it is nobody's."""

    def __init__(self, folder: Path) -> None:
        pytest.importorskip("pg8000", reason="pg8000 is missing: integration/systems/requirements.txt")
        self._programs = _find_programs()
        (self.port,) = free_ports(1)
        self._log = folder / "postgres.log"
        self._data = folder / "data"
        self._data.mkdir(mode=0o700)
        self._user = None
        if os.geteuid() == 0:
            self._user = pwd.getpwnam(NOBODY).pw_uid
            os.chown(self._data, self._user, -1)
            self._open_the_way()
        init = [self._program("initdb"), "-D", str(self._data), "-U", "postgres", "-A", "trust", "-N", "--no-locale"]
        subprocess.run(init, check=True, capture_output=True, user=self._user, cwd="/")
        self.process: Process | None = None

    def _open_the_way(self) -> None:
        """Nobody has to get there; another run of pytest takes that back."""
        for above in self._data.parents:
            if above.owner() == "root" and above != Path("/") and not above.stat().st_mode & 0o001:
                above.chmod(above.stat().st_mode | 0o011)

    def start(self) -> Process:
        """Returns when it answers."""
        if self._user is not None:
            self._open_the_way()
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "port": self.port}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [self._program("postgres"), "-D", str(self._data), *given]
        self.process = Process(command, self._log, user=self._user)
        self.process.wait_for("ready to accept connections", 60)
        return self.process

    def run(self, statement: str) -> list[Any]:
        import pg8000.native

        db = pg8000.native.Connection("postgres", host="127.0.0.1", port=self.port, database="postgres", timeout=20)
        try:
            return list(db.run(statement) or [])
        finally:
            db.close()

    def _program(self, name: str) -> str:
        return str(self._programs / name)


def _find_programs() -> Path:
    """Debian keeps them out of the path, version by version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = shutil.which("initdb")
    if path is None and not found:
        pytest.skip("PostgreSQL not found. Install it (Debian: apt install postgresql).")
    return (Path(path) if path is not None else found[-1]).parent
