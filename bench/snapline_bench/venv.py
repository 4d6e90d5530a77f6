"""Pythons of the benches' own, below build/bench, so that nothing they need gets into .venv."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent.parent
BUILD = BENCH.parent / "build" / "bench"


class NotInstalled(Exception):
    """What is needed is not to be had on this machine."""


def make(name: str, requirements: Path, only_binary: str = "") -> Path:
    """
    Args:
        only_binary: packages that are not built from their sources.

    Returns:
        its interpreter; the environment is made now, if it is not there yet or its requirements have changed.

    Raises:
        NotInstalled: with the last line of what pip said.
    """
    folder = BUILD / name
    stamp = folder / "stamp"
    wanted = f"{sys.version}\n{requirements.read_text()}"
    python = folder / "bin" / "python"
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"installing {requirements.relative_to(BENCH.parent)} into build/bench/{name}, once", flush=True)
        run(sys.executable, "-m", "venv", "--clear", str(folder))
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        binary = ["--only-binary", only_binary] if only_binary else []
        run(*pip, *binary, "-r", str(requirements))
        stamp.write_text(wanted)
    return python


def run(*command: str) -> str:
    """
    Returns:
        what it printed.
    """
    ended = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if ended.returncode != 0:
        said = [line for line in ended.stderr.splitlines() if line.strip()]
        raise NotInstalled(said[-1] if said else f"{command[0]} ended with {ended.returncode}")
    return ended.stdout
