"""Tests of keyed process functions without Spark."""

from snapline.testing.harness import KeyedTestHarness, Snapshot
from snapline.testing.operator import Bounds

__all__ = ["Bounds", "KeyedTestHarness", "Snapshot"]
