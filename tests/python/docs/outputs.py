"""Blocks of the pages that show commands with what they print: found, run, compared, written anew."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from .pages import TOP, text

#: A block of such lines begins with a command.
_BLOCK = re.compile(r"^```\n(\$ snapline .*?)^```", re.DOTALL | re.MULTILINE)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# Said once in a while: a quick machine says it never.
_WAITING = re.compile(r"^… .*: \d+ of \d+ tasks$")

# What is another in every run, in the order in which it is looked for.
_VOLATILE = (
    (_UUID, "ID"),
    (r"(\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d", "MOMENT"),
    (r"\d+ min \d+ s|\d[\d.,]* m?s\b", "DURATION"),
    (r"\d[\d.,]* ([kMGT]?B)\b", "SIZE"),
    (r"\d+ %", "SHARE"),
    (r"─+", "─"),
    (r"\bbatch(es)?\b", "batch"),
    (r"\d[\d,]*\d|\d", "N"),
    (r"N-N", "N"),
    (r"N(, N)+", "N"),
    (r"\s+", " "),
)


class Shown(NamedTuple):
    """A command on a page, and what stands there as its output."""

    page: str
    command: str
    output: str


def shown(page: str) -> Iterator[Shown]:
    """All of a page, in order."""
    for block in _BLOCK.findall(text(page)):
        for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = each.partition("\n")
            yield Shown(page, command, output)


def run(command: str, folder: Path) -> str:
    """What it prints to standard output. The width is that of a pipe."""
    words = shlex.split(command)
    assert words[0] == "snapline"
    ran = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return "".join(f"{line.rstrip()}\n" for line in ran.stdout.splitlines() if not _WAITING.search(line))


def normalised(output: str) -> list[str]:
    """Lines without what is another in every run. Rows that are then alike stand once: their number is such a thing."""
    lines = []
    for line in output.strip().splitlines():
        for pattern, word in _VOLATILE:
            line = re.sub(pattern, word, line)
        lines.append(line.strip())
    return [line for line, _ in groupby(lines)]


def write(page: str, outputs: dict[str, str]) -> None:
    """Puts outputs, by command, where the page has older ones."""

    def renewed(block: re.Match[str]) -> str:
        commands = re.findall(r"^\$ (.*)$", block[1], re.MULTILINE)
        return "```\n" + "\n".join(f"$ {command}\n{outputs[command]}" for command in commands) + "```"

    path = TOP / page
    path.write_text(_BLOCK.sub(renewed, path.read_text()))
