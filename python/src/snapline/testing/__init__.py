"""Tests of keyed process functions without Spark."""

from snapline.testing.exchange import Bounds
from snapline.testing.harness import KeyedTestHarness, Snapshot

__all__ = ["Bounds", "KeyedTestHarness", "Snapshot"]
