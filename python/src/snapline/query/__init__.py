"""Queries with checkpoints at an interval: their settings, and recovery by exact replay."""

from snapline.query.choice import CheckpointChoice
from snapline.query.config import CheckpointConfig, CheckpointingMode, ExternalizedCheckpointRetention
from snapline.query.files import Files, LocalFiles
from snapline.query.hadoop_files import HadoopFiles
from snapline.query.journal import NO_CHECKPOINT, CheckpointRef, Journal
from snapline.query.listener import CheckpointListener
from snapline.query.metadata import CheckpointMetadata, read_checkpoint
from snapline.query.obstacles import Obstacle
from snapline.query.plan_checks import check_replayable, find_obstacles
from snapline.query.recovery import Recovery
from snapline.query.report import RecoveryReport
from snapline.query.restart import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
    RestartStrategy,
)
from snapline.query.starting import start
from snapline.query.supervised import SupervisedQuery

__all__ = [
    "NO_CHECKPOINT",
    "CheckpointChoice",
    "CheckpointConfig",
    "CheckpointListener",
    "CheckpointMetadata",
    "CheckpointRef",
    "CheckpointingMode",
    "ExponentialDelayRestart",
    "ExternalizedCheckpointRetention",
    "FailureRateRestart",
    "Files",
    "FixedDelayRestart",
    "HadoopFiles",
    "Journal",
    "LocalFiles",
    "NoRestart",
    "Obstacle",
    "Recovery",
    "RecoveryReport",
    "RestartStrategy",
    "SupervisedQuery",
    "check_replayable",
    "find_obstacles",
    "read_checkpoint",
    "start",
]
