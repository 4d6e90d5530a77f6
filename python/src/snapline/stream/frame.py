"""What has to be known of a DataFrame, and whether the jar is there to serve it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from snapline.errors import InvalidConfiguration, WrongSparkVersion

API = "org.apache.spark.sql.execution.python.snapline.KeyedProcessApi"


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


def jvm_api(frame: DataFrame) -> Any:
    """The entry of the jar.

    Raises:
        WrongSparkVersion: Spark runs without the jar, or with one that has no such entry.
    """
    jvm: Any = frame.sparkSession._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        jvm.java.lang.Class.forName(API, True, loader)
    except Exception as e:
        raise WrongSparkVersion(
            f"Spark runs without Snapline's jar, or with one that has no {API.rsplit('.', 1)[1]}.",
            "make the session through snapline.configure(SparkSession.builder), and let package and jar be of one "
            "version.",
        ) from e
    api = jvm
    for name in API.split("."):
        api = getattr(api, name)
    return api
