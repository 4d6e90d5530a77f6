"""Looks into checkpoint folders without a JVM: which versions load, what they hold, whether every byte is sound."""

from snapline.inspect.checkpoint import CheckpointFolder, Operator
from snapline.inspect.contents import Row, StoreContents, open_store
from snapline.inspect.glance import Glance, glance
from snapline.inspect.numbered import NumberedCheckpoint, NumberedCheckpoints, ReplayProgress, Restart, Status
from snapline.inspect.opening import open
from snapline.inspect.savepoint import SavepointFolder
from snapline.inspect.store import Chain, Store
from snapline.inspect.store_files import StoreKey
from snapline.inspect.summary import CheckpointSummary, NumberedSummary, OperatorSummary, SnapshotSummary, summarize
from snapline.inspect.verify import Finding, Verification, verify

__all__ = [
    "Chain",
    "CheckpointFolder",
    "CheckpointSummary",
    "Finding",
    "Glance",
    "NumberedCheckpoint",
    "NumberedCheckpoints",
    "NumberedSummary",
    "Operator",
    "OperatorSummary",
    "ReplayProgress",
    "Restart",
    "Row",
    "SavepointFolder",
    "SnapshotSummary",
    "Status",
    "Store",
    "StoreContents",
    "StoreKey",
    "Verification",
    "glance",
    "open",
    "open_store",
    "summarize",
    "verify",
]
