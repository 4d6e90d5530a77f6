"""The client's session, as a classic one of this process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession


def classic_session(gateway: Any, companion: Any) -> SparkSession:
    """
    Args:
        gateway: to the server's JVM.
        companion: the object ``Companion`` there.
    """
    java_context = companion.context()
    conf = SparkConf(_jconf=java_context.getConf())
    context = SparkContext(gateway=gateway, jsc=java_context, conf=conf)
    # The first session of a process becomes the JVM's default one, from which the server makes those of other clients.
    SparkSession._instantiatedSession = SimpleNamespace(_sc=SimpleNamespace(_jsc=java_context))  # type: ignore[assignment]
    session = SparkSession(context, companion.session())
    SparkSession._instantiatedSession = session
    return session
