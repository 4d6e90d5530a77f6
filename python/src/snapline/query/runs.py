"""The runs of one query: replays of single batches into no sink, and the query itself."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from snapline.errors import CheckpointDamaged
from snapline.query.choice import CheckpointChoice
from snapline.query.config import LOCAL_BACKUP, CheckpointConfig
from snapline.query.files import Files
from snapline.query.interval_mark import INTERVAL_MARK, durable_before, make_mark
from snapline.query.journal import CheckpointRef
from snapline.query.logical_plan import WriterSettings
from snapline.query.long_logs import long_logs, query_settings
from snapline.query.metadata import CheckpointMetadata
from snapline.query.recovery import Recovery

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_DAMAGED = f"[{CheckpointDamaged.code}]"

_log = logging.getLogger(__name__)


class Runs:
    """Starts Spark's queries for one writer, one at a time. Owns the coordinator in the JVM."""

    def __init__(
        self,
        writer: DataStreamWriter,
        config: CheckpointConfig,
        files: Files,
        location: str,
        path: str | None,
        table: str | None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._writer = writer
        self._config = config
        self._files = files
        self._location = location
        self._target = (path, table)
        self._settings = dict(settings or {})
        self._session = writer._df.sparkSession
        self._mode = WriterSettings.of(writer).output_mode
        self._choice = CheckpointChoice(files)
        self._recovery = Recovery(files)
        self._restored: CheckpointRef | None = None
        self.driver = self._register()

    def _register(self) -> Any:
        jvm: Any = self._session._jvm
        checkpointing = getattr(jvm, "io.snapline.spark.plugin.Checkpointing")
        return checkpointing.start(self._session._jsparkSession, self._location, *self._config.to_coordinator())

    def begin(self, restore: int | None = None) -> StreamingQuery:
        """Recovers the state if that is needed, and starts the query.

        Args:
            restore: number of the checkpoint to recover from, by hand.

        Raises:
            StreamingQueryException: a replayed batch failed.
            SnaplineError: no checkpoint will do.
        """
        if restore is not None:
            self._recover(self._choice.by_number(restore).ref)
        elif self._files.exists(INTERVAL_MARK) or self._recovery.pending() is not None:
            self._recover_from_newest()
        if self._config.takes_checkpoints:
            if not self._files.exists(INTERVAL_MARK):
                self._files.write_new(INTERVAL_MARK, make_mark(self._files))
        else:
            self._files.delete(INTERVAL_MARK)
        self.driver.goOn(self._recovery.unfinished())
        self._recovery.clear_the_way()
        path, table = self._target
        writer = self._writer
        with self._session_settings():
            return writer.start(path) if table is None else writer.toTable(table)

    def _session_settings(self) -> AbstractContextManager[None]:
        """What counts for this query alone; Spark reads it when the query starts."""
        conf = self._session.conf
        if not self._config.takes_checkpoints:
            return query_settings(conf, self._settings)
        local_backup = {LOCAL_BACKUP: str(self._config.local_backup).lower()}
        return long_logs(conf, **local_backup, **self._settings)

    def set_aside(self, failure: Exception) -> bool:
        """Takes the checkpoint that this run went on from out of the choice, if it failed for its damage."""
        damage = _damage(failure)
        if damage is None or self._restored is None or self._restored.id not in self._choice.numbers():
            return False
        self._choice.set_aside(self._restored.id, damage[:500])
        return True

    def _recover_from_newest(self) -> None:
        base = durable_before(self._files)
        while True:
            newest = self._begun() or self._choice.newest(base.batch)
            try:
                self._recover(base if newest is None else newest.ref)
                return
            except Exception as e:
                damage = _damage(e)
                if damage is None or isinstance(e, CheckpointDamaged):
                    raise
                if not self.set_aside(e):
                    raise CheckpointDamaged(
                        f"{self._files.location} has no checkpoint whose state loads: {damage}",
                        "restore the folder from a backup, or begin a new checkpoint folder.",
                    ) from e

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

    def _recover(self, ref: CheckpointRef) -> None:
        self._restored = ref
        self.driver.restoreFrom(ref.id)
        self.driver.replay()
        replayed = self._recovery.run(ref, self._run_batch)
        if replayed:
            _log.info("Recovered from checkpoint %d: %d batches replayed.", ref.id, len(replayed))

    def _run_batch(self, batch: int) -> None:
        """One batch, as the logs have it, for its state only."""
        writer = (
            self._writer._df.writeStream.format("noop")
            .outputMode(self._mode)
            .option("checkpointLocation", self._location)
            .trigger(once=True)
        )
        with long_logs(self._session.conf, **self._settings):
            query = writer.start()
        try:
            query.awaitTermination()
        finally:
            query.stop()


def _damage(failure: Exception) -> str | None:
    """What it says of damage. Spark wraps what a task failed with: the message has the outermost text only."""
    trace = getattr(failure, "_stackTrace", None) or ""
    return next((line.strip() for line in f"{failure}\n{trace}".splitlines() if _DAMAGED in line), None)
