"""What a driver and its Python workers hold at one moment, read from outside (Linux: /proc)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from snapline_bench import cpu
from snapline_bench.written import files_below


@dataclass(frozen=True)
class Held:
    """Of a process and all that descend from it; the driver's own Python counts as one of the Pythons."""

    jvm_rss: int = 0
    python_rss: int = 0
    descriptors: int = 0


def held(root: int) -> Held:
    parents: dict[int, int] = {}
    found: dict[int, tuple[str, int, int]] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            lines = (process / "status").read_text().splitlines()
            fields = dict(line.split(":", 1) for line in lines if ":" in line)
            parents[int(process.name)] = int(fields["PPid"])
            resident = int(fields.get("VmRSS", "0 kB").split()[0]) * 1024
            found[int(process.name)] = fields["Name"].strip(), resident, len(os.listdir(process / "fd"))  # noqa: PTH208
        except OSError:
            continue  # it ended while we were looking
    mine = [each for pid, each in found.items() if cpu.descends(pid, root, parents)]
    return Held(
        jvm_rss=sum(resident for name, resident, _ in mine if name == "java"),
        python_rss=sum(resident for name, resident, _ in mine if name.startswith("python")),
        descriptors=sum(files for _, _, files in mine),
    )


def folder(path: Path) -> tuple[int, int]:
    """How many files are below a folder, and their bytes."""
    sizes = []
    for entry in files_below(path):
        try:
            sizes.append(entry.stat(follow_symlinks=False).st_size)
        except FileNotFoundError:
            continue
    return len(sizes), sum(sizes)
