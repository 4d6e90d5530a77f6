"""Tests of process functions without Spark."""

from snapline.stream.broadcasting import BroadcastInput
from snapline.testing.bounds import Bounds
from snapline.testing.harness import KeyedTestHarness
from snapline.testing.kept import Snapshot
from snapline.testing.process import ProcessTestHarness
from snapline.testing.sink_contract import SinkContract
from snapline.testing.two_inputs import KeyedCoTestHarness

__all__ = [
    "Bounds",
    "BroadcastInput",
    "KeyedCoTestHarness",
    "KeyedTestHarness",
    "ProcessTestHarness",
    "SinkContract",
    "Snapshot",
]
