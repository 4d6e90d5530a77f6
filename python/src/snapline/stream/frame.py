"""Facts about a DataFrame."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from snapline.errors import InvalidConfiguration


def check_frame(frame: Any, what: str = "key_by") -> DataFrame:
    """A DataFrame of classic Spark.

    Raises:
        InvalidConfiguration: it is something else.
    """
    if not isinstance(frame, DataFrame):
        raise InvalidConfiguration(f"{what} of {type(frame).__name__}.", "give a DataFrame of Spark.")
    if not isinstance(frame, ClassicFrame):
        raise InvalidConfiguration(
            f"{what} of a DataFrame of Spark Connect, whose plan is made on the server.",
            "use a classic session: SparkSession.builder without remote().",
        )
    return frame
