"""Lines of Spark: the package has a jar for each that it serves, and takes the one for the pyspark that is here."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from snapline._version import __spark_lines__, __version__

#: The command that installs a pyspark that fits.
PYSPARK = f'pip install "pyspark~={__spark_lines__[-1]}.0"'


def line_of(release: str) -> str:
    """``4.2`` of ``4.2.1``."""
    return ".".join(release.split(".")[:2])


@cache
def pyspark_version() -> str | None:
    """The version of the pyspark that Python would import, which is not imported for that; None without one.

    On a cluster that is the one of SPARK_HOME, whatever is installed beside it.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text()
    except OSError:
        import pyspark  # of an archive

        return str(pyspark.__version__)
    found = re.search(r'^__version__\b[^"\']*["\']([^"\']+)', text, re.MULTILINE)
    return None if found is None else found[1]


def spark_line() -> str:
    """The line of that pyspark; the newest that is served, without one."""
    found = pyspark_version()
    return __spark_lines__[-1] if found is None else line_of(found)


def fits(release: str) -> bool:
    """Whether the package has a jar for that Spark."""
    return line_of(release) in __spark_lines__


def has_real_time_state() -> bool:
    """Whether Spark keeps state in its real-time mode, which it does from 4.3 on."""
    return _number() >= (4, 3)


def has_empty_stores() -> bool:
    """Whether a state store of Spark's own can begin empty at a later version than 0, as RocksDB's can from 4.2 on."""
    return _number() >= (4, 2)


def _number() -> tuple[int, ...]:
    return tuple(map(int, spark_line().split(".")))


def what_to_install(release: str) -> str:
    """For one who has that Spark, for which there is no jar."""
    return f"there is no Snapline {__version__} for Spark {line_of(release)}, only for {LINES}: {PYSPARK}."


#: The lines that are served, as a text.
LINES = f"{', '.join(__spark_lines__[:-1])} and {__spark_lines__[-1]}"
