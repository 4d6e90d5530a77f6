"""A Spark that runs in this process already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from snapline.jar import VERSION_RESOURCE


class RunningSpark:
    """The JVM, and the context in it if there is one. Owns neither."""

    def __init__(self, jvm: Any, context: Any | None) -> None:
        self._jvm = jvm
        self._context = context

    @classmethod
    def find(cls) -> RunningSpark | None:
        """None if Spark is still to be started, by the next session of this process."""
        from pyspark import SparkContext

        if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
            return None
        # spark-submit has started the JVM, and this connects to it; a JVM that is connected already stays as it is.
        SparkContext._ensure_initialized()
        return cls(SparkContext._jvm, SparkContext._active_spark_context)

    @property
    def has_context(self) -> bool:
        """Whether a SparkContext is active: its jars and static settings are fixed."""
        return self._context is not None

    def conf(self, name: str) -> str | None:
        """A setting of the context; before there is one, what spark-submit was given."""
        if self._context is not None:
            value = self._context.getConf().get(name)
        else:
            value = getattr(self._jvm, "java.lang.System").getProperty(name)
        return None if value is None else str(value)

    def jar_properties(self) -> Mapping[str, str]:
        """The version properties of the jar on the driver's class path; empty if there is none."""
        loader = getattr(self._jvm, "org.apache.spark.util.Utils").getContextOrSparkClassLoader()
        stream = loader.getResourceAsStream(VERSION_RESOURCE)
        if stream is None:
            return {}
        try:
            properties = getattr(self._jvm, "java.util.Properties")()
            properties.load(stream)
            return {str(name): str(properties.getProperty(name)) for name in properties.stringPropertyNames()}
        finally:
            stream.close()
