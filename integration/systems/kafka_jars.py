"""Jars of Spark's Kafka source and sink."""

from __future__ import annotations

import pyspark

from .artifacts import SCALA, first_of, jar
from .broker import VERSION


def kafka_jars() -> list[str]:
    """Paths, for `spark.jars`."""
    provider = f"org.apache.spark:spark-token-provider-kafka-0-10_{SCALA}"
    connector = f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}"
    found = [
        # That of the line before works on one that has none of its own there.
        first_of(f"{connector}:{version}" for version in (pyspark.__version__, "4.2.0")),
        first_of(f"{provider}:{version}" for version in (pyspark.__version__, "4.1.0-preview1")),
        jar(f"org.apache.kafka:kafka-clients:{VERSION}"),
        jar("org.apache.commons:commons-pool2:2.13.1"),
    ]
    return [str(path) for path in found]
