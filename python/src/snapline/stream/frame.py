"""Facts about a DataFrame."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from snapline.errors import InvalidConfiguration


def check_frame(frame: Any, what: str = "key_by") -> DataFrame:
    """A DataFrame, of a classic session or of Spark Connect.

    Raises:
        InvalidConfiguration: it is something else.
    """
    if not isinstance(frame, DataFrame):
        raise InvalidConfiguration(f"{what} of {type(frame).__name__}.", "give a DataFrame of Spark.")
    return frame
