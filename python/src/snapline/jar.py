"""The jars inside this package: one for each line of Spark that it serves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from snapline._version import __version__
from snapline.errors import InvalidConfiguration, WrongSparkVersion
from snapline.spark_line import LINES, fits, spark_line, what_to_install

PROVIDER_CLASS = "io.snapline.spark.SnaplineStateStoreProvider"
EXTENSION_CLASS = "io.snapline.spark.SnaplineExtension"
PLUGIN_CLASS = "io.snapline.spark.plugin.SnaplinePlugin"
VERSION_RESOURCE = "snapline/version.properties"

# Every name of the jar begins so, whatever its version and Spark line.
NAME_PREFIX = "snapline-spark-"

_FOLDER = Path(__file__).parent / "jars"
_REINSTALL = (
    f'install the package again (pip install --force-reinstall "snapline=={__version__}"); '
    "in a source tree run scripts/wheel."
)


@dataclass(frozen=True)
class JarInfo:
    """A jar of Snapline: its version, and the release line of Spark that it serves (``4.2``)."""

    path: Path
    version: str
    spark_line: str


def jar_path() -> Path:
    """The jar for the pyspark that is here.

    Raises:
        InvalidConfiguration: the package holds none, or several.
        WrongSparkVersion: no jar is for that Spark.
    """
    line = spark_line()
    if not fits(line):
        raise WrongSparkVersion(f"pyspark is of Spark {line}; this Snapline is for {LINES}.", what_to_install(line))
    jars = sorted(_FOLDER.glob(f"{NAME_PREFIX}{line}_*.jar"))
    if len(jars) != 1:
        names = ", ".join(jar.name for jar in jars) or "none"
        raise InvalidConfiguration(
            f"the package should hold one jar for Spark {line} in {_FOLDER}, and there is {names}.", _REINSTALL
        )
    return jars[0]


def read_jar_info(path: Path) -> JarInfo:
    """The version and release line that a jar names.

    Raises:
        InvalidConfiguration: it is no jar of Snapline.
    """
    try:
        with ZipFile(path) as jar:
            properties = parse_properties(jar.read(VERSION_RESOURCE).decode())
        return JarInfo(path, properties["version"], properties["spark.line"])
    except (BadZipFile, KeyError, OSError, UnicodeDecodeError) as e:
        raise InvalidConfiguration(f"{path} is no jar of Snapline ({type(e).__name__}: {e}).", _REINSTALL) from e


def checked_jar() -> JarInfo:
    """The jar, which is of the package's own version and of the line of the pyspark that is here.

    Raises:
        InvalidConfiguration: there is no such jar.
        WrongSparkVersion: it is of another version, or no jar is for that Spark.
    """
    jar, line = read_jar_info(jar_path()), spark_line()
    if (jar.version, jar.spark_line) != (__version__, line):
        raise WrongSparkVersion(
            f"the jar is of version {jar.version} for Spark {jar.spark_line}, the package of {__version__}; pyspark "
            f"is of Spark {line}.",
            _REINSTALL,
        )
    return jar


def parse_properties(text: str) -> dict[str, str]:
    """Java properties as people write them: one a line, ``key=value``, ``key: value`` or ``key value``."""
    properties = {}
    for line in map(str.strip, text.splitlines()):
        if line and line[0] not in "#!":
            end = next((at for at, char in enumerate(line) if char in "=: \t"), len(line))
            rest = line[end:].lstrip()
            properties[line[:end]] = (rest[1:] if rest[:1] in ("=", ":") else rest).strip()
    return properties
