"""Flink's state and checkpoint model for Spark Structured Streaming."""

from snapline._version import __version__

__all__ = ["__version__"]
