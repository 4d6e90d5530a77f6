"""Savepoints: the state of a query as Parquet or as its files, from which it goes on at any parallelism."""

from snapline.savepoint.create import create_savepoint
from snapline.savepoint.difference import diff
from snapline.savepoint.export import export_savepoint
from snapline.savepoint.layout import OperatorLayout, StateKey
from snapline.savepoint.metadata import SavepointFile, SavepointMetadata, read_savepoint
from snapline.savepoint.read import read_state
from snapline.savepoint.rescale import rescale_checkpoint
from snapline.savepoint.restore import restore_savepoint
from snapline.savepoint.verify import verify_savepoint
from snapline.savepoint.write import write_savepoint

__all__ = [
    "OperatorLayout",
    "SavepointFile",
    "SavepointMetadata",
    "StateKey",
    "create_savepoint",
    "diff",
    "export_savepoint",
    "read_savepoint",
    "read_state",
    "rescale_checkpoint",
    "restore_savepoint",
    "verify_savepoint",
    "write_savepoint",
]
