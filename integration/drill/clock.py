"""A clock that a drill sets while processes read it (clock.c). That of the machine stays as it is."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest


class Clock:
    """For processes that have its environment."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("a C compiler is missing (Debian: apt install gcc)")
        folder.mkdir()
        library, self._file = folder / "clock.so", folder / "offset"
        source = Path(__file__).with_name("clock.c")
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(library), str(source), "-ldl"], check=True
        )
        self._file.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "DRILL_CLOCK": str(self._file)}

    def set(self, seconds: int) -> None:
        """So far from the clock of the machine."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("=q", seconds))
