"""PyFlink beside the others: a Python of its own with what it needs, made when it is first asked for, and its job."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyspark

from snapline_bench import venv
from snapline_bench.cpu import Usage
from snapline_bench.provider import Provider

REQUIREMENTS = venv.BENCH / "pyflink" / "requirements.txt"
JOB = venv.BENCH / "pyflink" / "keyed_sum.py"
# Of these a build from sources would take longer than the bench, and mostly fail.
BINARY = "apache-flink,apache-beam,grpcio,numpy,pandas,pemja,pyarrow"
KAFKA = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
# The reader of Parquet files is no part of PyFlink; Hadoop's classes, which it needs, are among Spark's jars.
PARQUET = "org.apache.flink:flink-sql-parquet:"
FROM_SPARK = ("hadoop-client-api", "hadoop-client-runtime", "jcl-over-slf4j")

PROCESS = "pyflink-process"
THREAD = "pyflink-thread"
NAMES = (PROCESS, THREAD)


def providers() -> list[Provider]:
    """Both modes; none, and a line that says why, where PyFlink cannot be installed."""
    try:
        python, *jars = installed()
    except venv.NotInstalled as reason:
        print(f"pyflink: {reason}; running without it")
        return []
    settings = {name: {"mode": name.removeprefix("pyflink-"), "python": python} for name in NAMES}
    return [Provider(name, name, "", settings[name], tuple(jars)) for name in NAMES]


@cache
def installed() -> tuple[str, ...]:
    """
    Returns:
        its interpreter, and then the jars that the job needs beside those of PyFlink.
    """
    python = str(venv.make("pyflink-venv", REQUIREMENTS, BINARY))
    version = venv.run(python, "-c", "import pyflink.version as v; print(v.__version__)").strip()
    spark_jars = Path(pyspark.__file__).parent / "jars"
    hadoop = [str(jar) for name in FROM_SPARK for jar in spark_jars.glob(f"{name}-*.jar")]
    return (python, from_maven(PARQUET + version), *hadoop)


def from_maven(coordinates: str) -> str:
    """Through jgo, which the project has for sbt anyway."""
    try:
        from jgo.maven import MavenContext

        return str(MavenContext(timeout=120).create_dependency(coordinates).artifact.resolve())
    except Exception as e:  # jgo has no errors of its own
        raise venv.NotInstalled(f"{coordinates}: {e}") from e


def with_kafka(titles: Mapping[str, str]) -> list[Provider]:
    """Jobs from Kafka to Kafka under these names; none, and a line that says why, where PyFlink cannot be installed."""
    if not titles:
        return []
    try:
        python, *_ = installed()
        connector = from_maven(KAFKA)
    except venv.NotInstalled as reason:
        print(f"{', '.join(titles)}: {reason}; running without")
        return []
    return [Provider(name, title, "", {"python": python}, (connector,)) for name, title in titles.items()]


@contextmanager
def running(provider: Provider, script: str, orders: dict[str, Any], scratch: Path) -> Iterator[None]:
    """A job that goes on until it is killed.

    Args:
        provider: of `with_kafka`.
        orders: what the script is told, beside `jar` and `folder`.
    """
    folder = scratch / "flink"
    folder.mkdir()
    told = folder / "orders.json"
    told.write_text(json.dumps({**orders, "jar": provider.jars[0], "folder": str(folder)}))
    command = [provider.settings["python"], str(venv.BENCH / "pyflink" / script), str(told)]
    environment = {**os.environ, "FLINK_LOG_DIR": str(folder)}
    with (folder / "out.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def parts_of(parts: Iterable[list[Path]], rows: int) -> list[tuple[list[Path], int]]:
    """The parts of a job.

    Args:
        parts: folders of batches.
        rows: of a batch.
    """
    return [(sorted(file for batch in part for file in batch.iterdir()), rows * len(part)) for part in parts]


def run_job(
    provider: Provider, entries: int, parts: list[tuple[list[Path], int]], scratch: Path, *, windows_s: int = 0
) -> Usage:
    """A job of PyFlink's over two lists of files; what it used for the second.

    Args:
        parts: files, and how many rows are in them.
        windows_s: seconds of tumbling windows; 0: a keyed function.
    """
    folder = scratch / "flink"
    folder.mkdir()
    orders, result = folder / "orders.json", folder / "result.json"
    told = {
        "mode": provider.settings["mode"],
        "entries": entries,
        "windows_s": windows_s,
        "folder": str(folder),
        "parts": [([str(file) for file in files], rows) for files, rows in parts],
    }
    orders.write_text(json.dumps(told))
    jars = os.pathsep.join(provider.jars)
    environment = {**os.environ, "PYTHONPATH": str(venv.BENCH), "HADOOP_CLASSPATH": jars, "FLINK_LOG_DIR": str(folder)}
    subprocess.run(
        [provider.settings["python"], str(JOB), str(orders), str(result)], env=environment, cwd=folder, check=True
    )
    return Usage(**json.loads(result.read_text()))
