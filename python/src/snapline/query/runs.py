"""The runs of one query: replays of single batches into no sink, and the query itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from snapline.errors import CheckpointDamaged
from snapline.query.choice import CheckpointChoice
from snapline.query.config import CheckpointConfig
from snapline.query.files import Files
from snapline.query.interval_mark import INTERVAL_MARK, durable_before, make_mark
from snapline.query.journal import CheckpointRef
from snapline.query.logical_plan import WriterSettings
from snapline.query.recovery import Recovery

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_RETAIN = "spark.sql.streaming.minBatchesToRetain"
# The coordinator purges the logs itself: a replay needs them from the oldest checkpoint on.
_FOR_EVER = str(2**31 - 2)
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
    ) -> None:
        self._writer = writer
        self._config = config
        self._files = files
        self._location = location
        self._target = (path, table)
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
        with self._long_logs():
            if restore is not None:
                self._recover(self._choice.by_number(restore).ref)
            elif self._files.exists(INTERVAL_MARK) or self._recovery.pending() is not None:
                self._recover_from_newest()
            if self._config.takes_checkpoints:
                if not self._files.exists(INTERVAL_MARK):
                    self._files.write_new(INTERVAL_MARK, make_mark(self._files))
            else:
                self._files.delete(INTERVAL_MARK)
            self.driver.goOn()
            path, table = self._target
            return self._writer.toTable(table) if table is not None else self._writer.start(path)

    def set_aside(self, failure: Exception) -> bool:
        """Takes the checkpoint that this run went on from out of the choice, if it failed for its damage."""
        why = _line_of_damage(failure)
        if self._restored is None or not self._restored.id or why is None:
            return False
        if self._restored.id not in self._choice.numbers():
            return False
        self._choice.set_aside(self._restored.id, why)
        return True

    def _recover_from_newest(self) -> None:
        while True:
            newest, durable = self._choice.newest(), durable_before(self._files)
            try:
                self._recover(newest.ref if newest is not None and newest.batch >= durable.batch else durable)
                return
            except Exception as e:
                if not self.set_aside(e):
                    raise

    def _recover(self, ref: CheckpointRef) -> None:
        self._restored = ref
        if ref.id:
            self.driver.restoreFrom(ref.id)
        self.driver.replay()
        replayed = self._recovery.run(ref, self._run_batch)
        if replayed:
            _log.info("Recovered from checkpoint %d: %d batches replayed.", ref.id, len(replayed))

    def _run_batch(self, batch: int) -> None:
        """One batch, as the logs have it, for its state only."""
        query = (
            self._writer._df.writeStream.format("noop")
            .outputMode(self._mode)
            .option("checkpointLocation", self._location)
            .trigger(once=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()

    @contextmanager
    def _long_logs(self) -> Iterator[None]:
        """A query reads how much of its logs to keep when it starts."""
        if not self._config.takes_checkpoints:
            yield
            return
        conf = self._session.conf
        before = conf.get(_RETAIN, None)
        conf.set(_RETAIN, _FOR_EVER)
        try:
            yield
        finally:
            if before is None:
                conf.unset(_RETAIN)
            else:
                conf.set(_RETAIN, before)


def _line_of_damage(failure: Exception) -> str | None:
    """Where a failure, or what caused it in the JVM, speaks of damage. Spark's own text leaves out the causes."""
    text = f"{failure}\n{getattr(failure, '_stackTrace', '')}"
    return next((line[line.index(_DAMAGED) :][:500] for line in text.splitlines() if _DAMAGED in line), None)
