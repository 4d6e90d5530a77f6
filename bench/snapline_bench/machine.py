"""What the figures were measured on: goes into every result, since figures without it mean little."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pyspark

from snapline_bench.nulljar import java


def describe() -> dict[str, str | int]:
    return {
        "cores": os.cpu_count() or 0,
        "cpu": cpu_model(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system() + " " + platform.release(),
        "python": platform.python_version(),
        "java": java_version(),
        "spark": pyspark.__version__,
        "load_before": f"{os.getloadavg()[0]:.2f}",
    }


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def java_version() -> str:
    ended = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True)
    return ended.stderr.splitlines()[0]
