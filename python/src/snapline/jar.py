"""The jar inside this package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from snapline._version import __spark_line__, __version__
from snapline.errors import InvalidConfiguration, WrongSparkVersion

PROVIDER_CLASS = "io.snapline.spark.SnaplineStateStoreProvider"
EXTENSION_CLASS = "io.snapline.spark.SnaplineExtension"
PLUGIN_CLASS = "io.snapline.spark.plugin.SnaplinePlugin"
VERSION_RESOURCE = "snapline/version.properties"

# Every name of the jar begins so, whatever its version and Spark line.
NAME_PREFIX = "snapline-spark-"

_FOLDER = Path(__file__).parent / "jars"
_REINSTALL = (
    f'install the package again (pip install --force-reinstall "snapline=={__version__}+spark{__spark_line__}"); '
    "in a source tree run scripts/wheel."
)


@dataclass(frozen=True)
class JarInfo:
    """A jar of Snapline: its version, and the release line of Spark that it serves (``4.2``)."""

    path: Path
    version: str
    spark_line: str


def jar_path() -> Path:
    """The jar that belongs to this package.

    Raises:
        InvalidConfiguration: the package holds none, or several.
    """
    jars = sorted(_FOLDER.glob("*.jar"))
    if len(jars) != 1:
        names = ", ".join(jar.name for jar in jars) or "none"
        raise InvalidConfiguration(f"the package should hold one jar in {_FOLDER}, and there is {names}.", _REINSTALL)
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
    """The jar, which is of the package's own version and Spark line.

    Raises:
        InvalidConfiguration: there is no such jar.
        WrongSparkVersion: it is of another version.
    """
    jar = read_jar_info(jar_path())
    if (jar.version, jar.spark_line) != (__version__, __spark_line__):
        raise WrongSparkVersion(
            f"the jar is of version {jar.version} for Spark {jar.spark_line}, the package of {__version__} for Spark "
            f"{__spark_line__}.",
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
