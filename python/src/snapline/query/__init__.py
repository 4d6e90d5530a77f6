"""Queries with checkpoints at an interval: their settings, and recovery by exact replay."""

from snapline.folder.files import Files, LocalFiles
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.journal import NO_CHECKPOINT, CheckpointRef, Journal
from snapline.folder.metadata import CheckpointMetadata, read_checkpoint
from snapline.plan.obstacles import Obstacle
from snapline.plan.plan_checks import check_replayable, find_obstacles
from snapline.query.listener import CheckpointListener
from snapline.query.restart import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
    RestartStrategy,
)
from snapline.query.starting import start
from snapline.query.supervised import SupervisedQuery
from snapline.recovery.choice import CheckpointChoice
from snapline.recovery.recovery import Recovery
from snapline.recovery.report import RecoveryReport
from snapline.settings.checkpoint_config import CheckpointConfig, CheckpointingMode, ExternalizedCheckpointRetention

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
