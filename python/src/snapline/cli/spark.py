"""The Spark of a command: quiet, so that the answer stands alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from snapline.errors import InvalidConfiguration
from snapline.launch import conf_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS = "SPARK_SUBMIT_OPTS"
_LOGGING = "-Dlog4j2.configurationFile="
# The JVM says so of an option that Spark starts it with; nothing turns it off.
_OF_THE_JVM = "WARNING: Using incubator modules:"
_END_SECONDS = 10.0


@contextmanager
def spark_session(master: str, conf: Sequence[str] | None) -> Iterator[SparkSession]:
    """A session with Snapline. It owns the JVM, which ends with the block.

    Raises:
        InvalidConfiguration: a setting has no value, or does not fit.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from snapline.session import configure

    builder = SparkSession.builder.master(master).appName("snapline savepoint")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    for setting in conf or ():
        name, separator, value = setting.partition("=")
        if not separator:
            raise InvalidConfiguration(f"--conf {setting} has no =.", "write --conf name=value.")
        builder = builder.config(name, value)
    configure(builder)
    with _jvm(builder._options) as gateway:
        # An argument of a private method: pyspark has no other way to be given a JVM.
        SparkContext._ensure_initialized(gateway=gateway)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _jvm(options: dict[str, str]) -> Iterator[Any]:
    """A JVM with these settings, whose log says what went wrong and no more. None: spark-submit has one already."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        yield None
        return
    before = os.environ.get(_OPTIONS)
    if not _has_logging_of_its_own(before):
        # The last of two such options counts.
        own = Path(__file__).with_name("log4j2.properties").as_uri()
        os.environ[_OPTIONS] = f"{_LOGGING}{own} {before or ''}".strip()
    settings = SparkConf(loadDefaults=False)
    settings.setAll(list(options.items()))
    try:
        launch: Any = launch_gateway
        gateway = launch(settings, {"stderr": PIPE, "text": True, "errors": "replace"})
    finally:
        if before is None:
            os.environ.pop(_OPTIONS, None)
        else:
            os.environ[_OPTIONS] = before
    heard = Thread(target=_pass_on, args=(gateway.proc.stderr,), name="stderr of the JVM", daemon=True)
    heard.start()
    try:
        yield gateway
    finally:
        SparkContext._gateway = SparkContext._jvm = None
        gateway.shutdown()
        gateway.proc.stdin.close()
        heard.join(_END_SECONDS)


def _pass_on(lines: IO[str]) -> None:
    for line in lines:
        if not line.startswith(_OF_THE_JVM):
            sys.stderr.write(line)
            sys.stderr.flush()


def _has_logging_of_its_own(options: str | None) -> bool:
    """Whether somebody has set up how this Spark logs."""
    folder = conf_folder()
    return _LOGGING in (options or "") or (folder is not None and any(folder.glob("log4j2*")))
