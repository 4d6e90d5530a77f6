"""PyFlink beside the others: a Python of its own with what it needs, made when it is first asked for, and its job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyspark

from snapline_bench.cpu import Usage
from snapline_bench.provider import Provider

BENCH = Path(__file__).parent.parent
VENV = BENCH.parent / "build" / "bench" / "pyflink-venv"
REQUIREMENTS = BENCH / "pyflink" / "requirements.txt"
JOB = BENCH / "pyflink" / "keyed_sum.py"
# Of these a build from sources would take longer than the bench, and mostly fail.
BINARY = "apache-flink,apache-beam,grpcio,numpy,pandas,pemja,pyarrow"
# The reader of Parquet files is no part of PyFlink; Hadoop's classes, which it needs, are among Spark's jars.
PARQUET = "org.apache.flink:flink-sql-parquet:"
FROM_SPARK = ("hadoop-client-api", "hadoop-client-runtime", "jcl-over-slf4j")

PROCESS = "pyflink-process"
THREAD = "pyflink-thread"
NAMES = (PROCESS, THREAD)


def providers() -> list[Provider]:
    """Both modes; none, and a line that says why, where PyFlink cannot be installed."""
    try:
        jars = installed()
    except NotInstalled as reason:
        print(f"pyflink: {reason}; running without it")
        return []
    return [Provider(name, name, "", {"mode": name.removeprefix("pyflink-")}, jars) for name in NAMES]


class NotInstalled(Exception):
    """PyFlink is not to be had on this machine."""


@cache
def installed() -> tuple[str, ...]:
    """
    Returns:
        the jars that the job needs beside those of PyFlink.
    """
    stamp = VENV / "stamp"
    wanted = f"{sys.version}\n{REQUIREMENTS.read_text()}"
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"pyflink: installing into {VENV.relative_to(BENCH.parent)}, once; it is large", flush=True)
        run(sys.executable, "-m", "venv", "--clear", str(VENV))
        pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(*pip, "--only-binary", BINARY, "-r", str(REQUIREMENTS))
        stamp.write_text(wanted)
    version = run(str(VENV / "bin" / "python"), "-c", "import pyflink.version as v; print(v.__version__)").strip()
    spark_jars = Path(pyspark.__file__).parent / "jars"
    return (from_maven(PARQUET + version), *(str(next(spark_jars.glob(f"{name}-*.jar"))) for name in FROM_SPARK))


def run(*command: str) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if ended.returncode != 0:
        said = [line for line in ended.stderr.splitlines() if line.strip()]
        raise NotInstalled(said[-1] if said else f"{command[0]} ended with {ended.returncode}")
    return ended.stdout


def from_maven(coordinates: str) -> str:
    """Through jgo, which the project has for sbt anyway."""
    try:
        from jgo.maven import MavenContext

        return str(MavenContext(timeout=120).create_dependency(coordinates).artifact.resolve())
    except Exception as e:  # jgo has no errors of its own
        raise NotInstalled(f"{coordinates}: {e}") from e


def run_job(provider: Provider, entries: int, parts: list[tuple[list[Path], int]], scratch: Path) -> Usage:
    """A job of PyFlink's over two lists of files; what it used for the second.

    Args:
        parts: files, and how many rows are in them.
    """
    folder = scratch / "flink"
    folder.mkdir()
    orders, result = folder / "orders.json", folder / "result.json"
    told = {
        "mode": provider.settings["mode"],
        "entries": entries,
        "folder": str(folder),
        "parts": [([str(file) for file in files], rows) for files, rows in parts],
    }
    orders.write_text(json.dumps(told))
    jars = os.pathsep.join(provider.jars)
    environment = {**os.environ, "PYTHONPATH": str(BENCH), "HADOOP_CLASSPATH": jars, "FLINK_LOG_DIR": str(folder)}
    python = str(VENV / "bin" / "python")
    subprocess.run([python, str(JOB), str(orders), str(result)], env=environment, cwd=folder, check=True)
    return Usage(**json.loads(result.read_text()))
