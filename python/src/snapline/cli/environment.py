"""What a session would be started with: Java and Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snapline.launch import spark_home

_SECONDS = 30


@dataclass(frozen=True)
class Java:
    """The ``java`` that Spark would run. ``major`` is None if it does not say its version."""

    path: str
    text: str
    major: int | None


def find_java(environ: Mapping[str, str] = os.environ) -> Java | None:
    """As Spark looks for it: JAVA_HOME, else the path."""
    home = environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=environ.get("PATH"))
    if path is None or shutil.which(path) is None:
        return None
    try:
        done = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return Java(path, str(e), None)
    text = (done.stderr or done.stdout).partition("\n")[0].strip()
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return Java(path, text, int(match[1]) if match else None)


@dataclass(frozen=True)
class WorkerPython:
    """The Python that runs a query's functions. ``version`` and ``prefix`` are empty if it does not run."""

    path: str
    version: str
    prefix: str


def find_worker_python(environ: Mapping[str, str], conf: Mapping[str, str]) -> WorkerPython:
    """As pyspark looks for it: a setting, PYSPARK_PYTHON, else ``python3``, whatever runs the driver."""
    path = conf.get("spark.pyspark.python") or environ.get("PYSPARK_PYTHON") or "python3"
    code = "import platform, sys; print(platform.python_version(), sys.prefix)"
    found = shutil.which(path, path=environ.get("PATH"))
    try:
        if found is None:
            return WorkerPython(path, "", "")
        done = subprocess.run([found, "-c", code], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return WorkerPython(path, "", "")
    version, _, prefix = done.stdout.strip().partition(" ")
    return WorkerPython(found, version, prefix)


def spark_version(environ: Mapping[str, str] = os.environ) -> tuple[Path | None, str | None]:
    """Where Spark lies, and its version by its own core jar."""
    home = spark_home(environ)
    jars = sorted(home.glob("jars/spark-core_*.jar")) if home else []
    match = re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", jars[0].name) if jars else None
    return home, match[1] if match else None
