"""Facts about a DataFrame."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from snapline.errors import InvalidConfiguration
from snapline.java_api import check_classic


def check_frame(frame: Any, what: str = "key_by") -> DataFrame:
    """A DataFrame of classic Spark.

    Raises:
        InvalidConfiguration: it is something else.
    """
    check_classic(frame, f"{what} of a DataFrame")
    if not isinstance(frame, DataFrame):
        raise InvalidConfiguration(f"{what} of {type(frame).__name__}.", "give a DataFrame of Spark.")
    return frame
