"""What a start does first: the state of a query is brought to the newest batch that was committed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from snapline.errors import CheckpointDamaged, StateNotFound, StorageFailure
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.interval_mark import INTERVAL_MARK, durable_before
from snapline.folder.journal import NO_CHECKPOINT, CheckpointRef
from snapline.folder.metadata import CheckpointMetadata, read_checkpoint
from snapline.folder.operator_metadata import prune_operator_metadata
from snapline.java_api import translate
from snapline.plan.plan_checks import find_obstacles, keeps_state, warn_of
from snapline.recovery.choice import CheckpointChoice
from snapline.recovery.damaged_load import damaged_load
from snapline.recovery.recovery import Recovery
from snapline.recovery.replay import BatchReplay, ReplayStopped
from snapline.recovery.report import RecoveryReport
from snapline.recovery.sink_log import SinkLog
from snapline.recovery.stored_changes import StoredChanges

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

STATE_FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
# Spark's folder of an operator's state; there from the first batch of a query that keeps some.
_STATE = "state"
# The query was stopped, input is gone, or storage refuses the driver: no program is the cause.
_KEEPS_STATES = (ReplayStopped, StateNotFound, StorageFailure)

_log = logging.getLogger(__name__)


class StateRecovery:
    """Chooses what a query's state is recovered from, and has it recovered. No query may run.

    Args:
        driver: the coordinator in the JVM, which must have claimed the folder before :meth:`run`.
        recovery: moves the entries of the logs.
        replay: runs single batches.
        settings: settings of Spark that the query starts with, whatever its session has; None: unset.
        prefer_checkpoint: as in the query's configuration.
    """

    def __init__(
        self,
        writer: DataStreamWriter,
        files: HadoopFiles,
        sink: SinkLog,
        driver: Any,
        recovery: Recovery,
        replay: BatchReplay,
        *,
        settings: Mapping[str, str | None],
        prefer_checkpoint: bool,
    ) -> None:
        self._writer = writer
        self._files = files
        self._sink = sink
        self._driver = driver
        self._recovery = recovery
        self._replay = replay
        self._settings = settings
        self._prefer_checkpoint = prefer_checkpoint
        self._choice = CheckpointChoice(files)
        self._changes = StoredChanges(files)
        self._restored: CheckpointRef | None = None
        # The checkpoint whose state was brought further by changelogs.
        self._extended: CheckpointMetadata | None = None

    def chosen(self, number: int) -> CheckpointRef:
        """The checkpoint that a person names.

        Raises:
            SnaplineError: it will not do.
        """
        return self._choice.by_number(number).ref

    def run(self, chosen: CheckpointRef | None = None) -> RecoveryReport | None:
        """The report of the state that had to be rebuilt; None: nothing had to.

        Args:
            chosen: the checkpoint to recover from; None: the newest, if the state is behind.

        Raises:
            StreamingQueryException: a replayed batch failed.
            SnaplineError: no checkpoint will do.
        """
        self._extended = None
        if chosen is not None:
            return self._recover(chosen)
        if self._files.exists(INTERVAL_MARK) and self._has_state():
            return self._recover_from_newest()
        return self._recover_durable()

    def _has_state(self) -> bool:
        """Whether there is anything that a replay would rebuild. If not, the mark and what a replay has hidden go."""
        if self._files.exists(_STATE) or keeps_state(self._writer._df):
            return True
        self._recovery.abandon()
        self._files.delete(INTERVAL_MARK)
        return False

    def set_aside(self, failure: Exception) -> bool:
        """Takes what this run went on from out of the choice, if it failed for its damage: the changelogs after its
        checkpoint, or the checkpoint. Damage of anything else is a failure like others."""
        load, restored = damaged_load(failure, self._files.location), self._restored
        if load is None or restored is None or load.version != restored.batch + 1:
            return False
        if restored.id not in self._choice.numbers():
            return False
        if self._extended is not None:
            self._changes.discard(self._extended)
            return True
        self._choice.set_aside(restored.id, load.text[:500])
        return True

    def _recover_from_newest(self) -> RecoveryReport | None:
        base = durable_before(self._files)
        rewound: set[CheckpointRef] = set()
        while True:
            newest = self._begun() or self._choice.newest(base.batch, self._prefer_checkpoint)
            ref = base if newest is None else self._beginning(newest)
            try:
                return self._recover(ref)
            except Exception as e:
                load = damaged_load(e, self._files.location)
                if load is not None and load.version > ref.batch + 1 and ref not in rewound:
                    # Files that the replay has made, before a crash maybe; the checkpoint itself has loaded, or will.
                    _log.warning("A state that was rebuilt does not load, and is rebuilt once more: %s", load.text)
                    rewound.add(ref)
                    continue
                if load is None or load.version != ref.batch + 1:
                    raise
                if not self.set_aside(e):
                    raise CheckpointDamaged(
                        f"{self._files.location} has no checkpoint whose state loads: {load.text}",
                        "restore the folder from a backup, or begin a new checkpoint folder.",
                    ) from e

    def _recover_durable(self) -> RecoveryReport | None:
        """Every batch is durable by itself, and at most the newest has to be run again."""
        pending = self._recovery.pending()
        if pending is not None and pending.checkpoint != NO_CHECKPOINT.id:
            return self._recover_from_newest()
        if pending is not None:
            return self._recover(pending.ref)
        if self._lost_its_commit(batch := self._recovery.unfinished()):
            return self._recover(CheckpointRef(NO_CHECKPOINT.id, batch - 1))
        # An earlier run may have begun with a checkpoint. Those since then are of the same history.
        self._restored = None
        self._driver.restoreFrom(NO_CHECKPOINT.id)
        return None

    def _lost_its_commit(self, batch: int) -> bool:
        """Whether the sink has a batch whose entry in the commit log is to be made by a replay.

        Spark passes over such a batch. Its watermark then comes a batch late, and in checkpoint format 2, where the
        entry names the states, Spark fails (StateStoreWriter.getStateStoreCheckpointInfo) at each start. Where a replay
        may make another state than the one that is durable, Spark has its way as long as that is a way. A static side
        it reads anew as well, where it runs a batch that was planned.
        """
        if batch < 0 or not self._sink.has(batch):
            return False
        obstacles = find_obstacles(self._writer._df)
        if not obstacles:
            return True
        if (self._settings.get(STATE_FORMAT) or "1") == "1" or any(
            obstacle.fatal and not obstacle.static for obstacle in obstacles
        ):
            return False
        warn_of(obstacles)
        return True

    def _begun(self) -> CheckpointMetadata | None:
        """The checkpoint of a recovery that has not ended: it may have been chosen by hand."""
        pending = self._recovery.pending()
        if pending is None or pending.checkpoint not in self._choice.numbers():
            return None
        try:
            return self._choice.by_number(pending.checkpoint)
        except CheckpointDamaged as e:
            self._choice.set_aside(pending.checkpoint, str(e))
            return None

    def _beginning(self, checkpoint: CheckpointMetadata) -> CheckpointRef:
        """The newest state that loads: that of the checkpoint, or one that its stores make of it by changelogs."""
        pending = self._recovery.pending()
        if pending is None or pending.checkpoint != checkpoint.id:
            batch = self._changes.newest_batch(checkpoint)
        else:
            is_there = pending.batch == checkpoint.batch or self._changes.reaches(checkpoint, pending.batch)
            batch = pending.batch if is_there else checkpoint.batch
        self._extended = checkpoint if batch > checkpoint.batch else None
        return CheckpointRef(checkpoint.id, batch)

    def _recover(self, ref: CheckpointRef) -> RecoveryReport | None:
        self._restored = ref
        self._driver.restoreFrom(ref.id)
        try:
            with self._replay.recovering():
                replayed = self._recovery.run(ref, self._replay, self._sink.has, lambda: self._leave_after(ref.id))
        except _KEEPS_STATES:
            raise
        except Exception:
            self._rewind()
            raise
        prune_operator_metadata(self._files)
        if not replayed:
            return None
        report = self._reported(ref, replayed)
        _log.log(logging.WARNING if report.ahead else logging.INFO, "%s", report)
        return report

    def _rewind(self) -> None:
        """After a batch has failed. The next start may be of another program, which must not go on from states that
        this one has made."""
        try:
            # Another driver's recovery is its own.
            if not self._driver.isTakenOver():
                self._recovery.rewind()
        except Exception as e:
            _log.warning("A replay that has failed could not be rewound: %s", e)

    def _leave_after(self, number: int) -> None:
        """Newer checkpoints are of another history from now on. A start would choose one where no batch follows."""
        there = self._choice.numbers()
        if number in there and number < there[-1]:
            with translate("remove the checkpoints after the one that was chosen"):
                self._driver.leaveAfter(number)

    def _reported(self, ref: CheckpointRef, replayed: range) -> RecoveryReport:
        if ref.id not in self._choice.numbers():
            return RecoveryReport(ref.id, ref.batch, replayed)
        if self._extended is not None:
            return RecoveryReport(ref.id, ref.batch, replayed)
        checkpoint = read_checkpoint(self._files, ref.id)
        stores = sum(1 for _ in checkpoint.handles())
        twice = sum(rows for batch, rows in self._replay.rows.items() if batch <= checkpoint.newest_batch)
        return RecoveryReport(ref.id, ref.batch, replayed, stores, checkpoint.ahead, twice)
