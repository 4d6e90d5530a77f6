"""The line of Spark that this package is for: its jar fits no other."""

from __future__ import annotations

from snapline._version import __spark_line__, __spark_lines__, __version__

#: The command that installs a pyspark that fits.
PYSPARK = f'pip install "pyspark~={__spark_line__}.0"'


def line_of(release: str) -> str:
    """``4.2`` of ``4.2.1``."""
    return ".".join(release.split(".")[:2])


def fits(release: str) -> bool:
    """Whether that Spark is of this package's line."""
    return line_of(release) == __spark_line__


def has_real_time_state() -> bool:
    """Whether Spark keeps state in its real-time mode, which it does from 4.3 on."""
    return tuple(map(int, __spark_line__.split("."))) >= (4, 3)


def what_to_install(release: str) -> str:
    """For one who has that Spark and this package, and they do not fit."""
    line = line_of(release)
    if line in __spark_lines__:
        return f'pip install "snapline=={__version__}+spark{line}" for Spark {line}, or {PYSPARK} for this package.'
    return f"there is no Snapline {__version__} for Spark {line}, only for {' and '.join(__spark_lines__)}: {PYSPARK}."
