"""The settings that Spark will be started with beside those of a session builder."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from snapline.errors import InvalidConfiguration
from snapline.jar import parse_properties

_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"


@dataclass(frozen=True)
class Launch:
    """Settings in force.

    Attributes:
        conf: the settings of PYSPARK_SUBMIT_ARGS over those of ``properties``.
        command_jars: the jars that PYSPARK_SUBMIT_ARGS names; for the driver's class path it goes before the builder.
        properties: the file the rest comes from; None if there is none.
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    command_jars: str | None = None
    properties: Path | None = None


def read_launch(environ: Mapping[str, str] = os.environ) -> Launch:
    """Reads PYSPARK_SUBMIT_ARGS and spark-defaults.conf.

    Raises:
        InvalidConfiguration: one of them cannot be read.
    """
    given, file, with_defaults = _parse_arguments(environ.get(_SUBMIT_ARGS, ""))
    defaults = _defaults_file(environ)
    conf: dict[str, str] = {}
    for path in (defaults if file is None or with_defaults else None, file):
        if path is not None:
            conf |= _read_properties(path)
    return Launch(conf | given, given.get("spark.jars"), file or defaults)


def spark_home(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where Spark lies: SPARK_HOME, else the pyspark package."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    spec = find_spec("pyspark")
    return Path(spec.origin).parent if spec and spec.origin else None


def conf_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where Spark's settings lie: SPARK_CONF_DIR, else a folder of Spark's."""
    home = spark_home(environ)
    return Path(environ["SPARK_CONF_DIR"]) if environ.get("SPARK_CONF_DIR") else home and home / "conf"


def _defaults_file(environ: Mapping[str, str]) -> Path | None:
    folder = conf_folder(environ)
    path = folder and folder / "spark-defaults.conf"
    return path if path and path.is_file() else None


def _read_properties(path: Path) -> dict[str, str]:
    try:
        properties = parse_properties(path.read_text())
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidConfiguration(f"{path} cannot be read: {e}.", "make it readable, or name another.") from e
    return {name: value for name, value in properties.items() if name.startswith("spark.")}


def _parse_arguments(text: str) -> tuple[dict[str, str], Path | None, bool]:
    """Settings, properties file, and whether the defaults count beside that file."""
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise InvalidConfiguration(f"{_SUBMIT_ARGS} is {text!r} ({e}).", "mend its quotes.") from e
    conf: dict[str, str] = {}
    jars = file = None
    pending = iter(words)
    for word in pending:
        option, joined, value = word.partition("=")
        if option not in ("--conf", "-c", "--jars", "--properties-file"):
            continue
        if not joined:
            value = next(pending, "")
        if option == "--jars":
            jars = value
        elif option == "--properties-file":
            file = Path(value)
        else:
            name, _, setting = value.partition("=")
            conf[name] = setting
    if jars is not None:
        conf["spark.jars"] = jars
    return conf, file, "--load-spark-defaults" in words
