"""The checks of ``snapline doctor``."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import NamedTuple

from snapline._version import __version__
from snapline.cli.environment import find_java, find_worker_python, spark_version
from snapline.errors import SnaplineError
from snapline.jar import NAME_PREFIX, PROVIDER_CLASS, checked_jar
from snapline.launch import read_launch
from snapline.session import JARS, PROVIDER
from snapline.spark_line import LINES, PYSPARK, fits, line_of, pyspark_version, spark_line, what_to_install

_JAVA_FROM = 17
_PYTHON_FROM = (3, 10)
_START_SECONDS = 180


class State(str, Enum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(NamedTuple):
    """One thing looked at; ``action`` is empty when there is nothing to do."""

    name: str
    state: State
    found: str
    action: str = ""


def run_checks(environ: Mapping[str, str] = os.environ, *, start: bool) -> list[Check]:
    """All checks, in the order in which they build on one another."""
    checks = [
        _check_python(),
        _coded("workers", lambda: _check_workers(environ)),
        _check_java(environ),
        _check_pyspark(),
        _check_spark(environ),
        _coded("jar", _check_jar),
        _coded("provider", lambda: _check_provider(environ)),
    ]
    if start and all(check.state is not State.FAIL for check in checks):
        checks.append(_check_start())
    elif start:
        checks.append(Check("start", State.FAIL, "not tried", "mend the above first."))
    return checks


def _check_python() -> Check:
    found = f"Python {platform.python_version()}, snapline {__version__} for Spark {LINES}"
    if sys.version_info < _PYTHON_FROM:
        return Check("python", State.FAIL, found, "use Python 3.10 or later.")
    return Check("python", State.OK, found)


def _check_workers(environ: Mapping[str, str]) -> Check:
    worker = find_worker_python(environ, read_launch(environ).conf)
    advice = f"export PYSPARK_PYTHON={sys.executable}"
    found = f"Python {worker.version} ({worker.path}) runs the functions of queries"
    if not worker.version:
        return Check(
            "workers", State.FAIL, f"{worker.path}, which is to run the functions of queries, does not", advice
        )
    if worker.version.split(".")[:2] != platform.python_version().split(".")[:2]:
        return Check("workers", State.FAIL, f"{found}, and another minor version is refused", advice)
    if worker.prefix != sys.prefix:
        return Check("workers", State.WARN, f"{found}: other packages than here", advice)
    return Check("workers", State.OK, found)


def _check_java(environ: Mapping[str, str]) -> Check:
    java = find_java(environ)
    install = f"install a JDK, {_JAVA_FROM} or later, and let JAVA_HOME name its folder."
    if java is None:
        home = environ.get("JAVA_HOME")
        return Check("java", State.FAIL, f"no java in JAVA_HOME={home}" if home else "no java on the path", install)
    origin = "JAVA_HOME" if environ.get("JAVA_HOME") else "the path"
    found = f"{java.text} ({java.path}, from {origin})"
    if java.major is None:
        return Check("java", State.WARN, found, f"see that it is {_JAVA_FROM} or later.")
    return Check("java", State.OK, found) if java.major >= _JAVA_FROM else Check("java", State.FAIL, found, install)


def _check_pyspark() -> Check:
    found = pyspark_version()
    if found is None:
        return Check("pyspark", State.FAIL, "not installed", PYSPARK)
    return _judge("pyspark", fits(found), f"pyspark {found}", what_to_install(found))


def _check_spark(environ: Mapping[str, str]) -> Check:
    home, found = spark_version(environ)
    advice = f"let SPARK_HOME name a Spark {spark_line()}, as pyspark is, or unset it to use the one in pyspark."
    if found is None:
        return Check("spark", State.FAIL, f"no Spark in {home}", advice)
    return _judge("spark", line_of(found) == spark_line(), f"Spark {found} in {home}", advice)


def _judge(name: str, fits: bool, found: str, advice: str) -> Check:
    return Check(name, State.OK, found) if fits else Check(name, State.FAIL, found, advice)


def _check_jar() -> Check:
    jar = checked_jar()
    return Check("jar", State.OK, f"{jar.path.name}: version {jar.version} for Spark {jar.spark_line}")


def _check_provider(environ: Mapping[str, str]) -> Check:
    launch = read_launch(environ)
    provider = launch.conf.get(PROVIDER)
    origin = f"set by PYSPARK_SUBMIT_ARGS or {launch.properties}" if launch.properties else "set by PYSPARK_SUBMIT_ARGS"
    if provider is None:
        return Check("provider", State.OK, "Spark's own, where snapline.configure() is not called")
    if provider != PROVIDER_CLASS:
        return Check(
            "provider", State.WARN, f"{provider}, {origin}", "nothing, where snapline.configure() is called: it wins."
        )
    if NAME_PREFIX not in launch.conf.get(JARS, ""):
        return Check(
            "provider",
            State.WARN,
            f"Snapline's, {origin}, and {JARS} does not name the jar",
            f"add {checked_jar().path} to {JARS}, or call snapline.configure().",
        )
    return Check("provider", State.OK, f"Snapline's, {origin}")


def _check_start() -> Check:
    """In a process of its own: this one stays without a JVM, and its output readable."""
    advice = "see the log of Spark: python -m snapline.cli.probe"
    try:
        done = subprocess.run(
            [sys.executable, "-m", "snapline.cli.probe"],
            capture_output=True,
            text=True,
            timeout=_START_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Check("start", State.FAIL, f"Spark did not start within {_START_SECONDS} seconds", advice)
    try:
        answer = json.loads(done.stdout.strip().rpartition("\n")[2])
        return Check("start", State(answer["state"]), str(answer["found"]), str(answer["action"]))
    except (ValueError, KeyError, TypeError):
        last = done.stderr.strip().rpartition("\n")[2]
        return Check("start", State.FAIL, f"Spark did not start: {last or done.returncode}", advice)


def _coded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except SnaplineError as e:
        return Check(name, State.FAIL, f"[{e.code}] {e.found}", e.action)
