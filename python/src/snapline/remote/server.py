"""Errors of a server of Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from snapline.errors import InvalidConfiguration
from snapline.java_api import coded_errors
from snapline.session import RELATIONS, RELATIONS_CLASS


@contextmanager
def known_by_server() -> Iterator[None]:
    """Around what sends a message of Snapline.

    Raises:
        InvalidConfiguration: the server knows none.
        SnaplineError: that of the server, by its code.
    """
    try:
        with coded_errors():
            yield
    except PySparkException as e:
        if "handler" not in str(e).lower():
            raise
        raise InvalidConfiguration(
            f"the Spark Connect server knows no functions of Snapline: {RELATIONS} does not name {RELATIONS_CLASS}.",
            "start the server with Snapline's jar and that setting: docs/spark-connect.md.",
        ) from e
