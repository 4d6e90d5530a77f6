"""Flink's state and checkpoint model for Spark Structured Streaming."""

from snapline._version import __version__
from snapline.config import StateBackendConfig
from snapline.errors import SnaplineError
from snapline.jar import jar_path
from snapline.session import configure

__all__ = ["SnaplineError", "StateBackendConfig", "__version__", "configure", "jar_path"]
