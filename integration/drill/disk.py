"""A small disk that can be filled up and freed again: a tmpfs of its own."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

BLOCK = bytes(1 << 16)
POLL = 0.02


class Disk:
    """Whoever mounts it takes it down; nobody may use it then."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    @contextmanager
    def full(self) -> Iterator[None]:
        """No byte is free, also when others delete something."""
        over = Event()
        filler = Thread(target=self._fill, args=(over.is_set,))
        filler.start()
        try:
            yield
        finally:
            over.set()
            filler.join()
            self._ballast.unlink()

    @property
    def free(self) -> int:
        """In bytes."""
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def _fill(self, over: Callable[[], bool]) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            while not over():
                size = len(BLOCK)
                while size > 0 and not over():
                    try:
                        # What is cut short has filled the last page.
                        if file.write(BLOCK[:size]) < size:
                            size //= 2
                    except OSError as e:
                        if e.errno != errno.ENOSPC:
                            raise
                        size //= 2
                time.sleep(POLL)


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Needs the right to mount: root."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "drill", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"a file system of its own cannot be mounted (run as root): {made.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
