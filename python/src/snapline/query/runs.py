"""The runs of one query, one at a time, and what has to be done before, between and after them."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from snapline.errors import QueryTakenOver, StorageFailure
from snapline.folder.end_of_time import END_OF_TIME_MS, is_draining
from snapline.folder.hadoop_files import HadoopFiles
from snapline.folder.interval_mark import INTERVAL_MARK, make_mark
from snapline.folder.unaligned import CUTS, UNALIGNED_MARK, plan_batch_without_data, rows_wait
from snapline.java_api import java_checkpointing, session_with, translate
from snapline.plan.logical_plan import WriterSettings, field_of
from snapline.plan.plan_checks import has_initial_state
from snapline.query.owner import owned
from snapline.query.real_time import is_real_time, show_table, start_of
from snapline.query.start_settings import LONG_LOGS, OF_RESULTS, starting_with, values_of
from snapline.recovery.recovery import Recovery
from snapline.recovery.replay import BatchReplay
from snapline.recovery.report import RecoveryReport
from snapline.recovery.sink_log import SinkLog
from snapline.recovery.state_recovery import StateRecovery
from snapline.settings.checkpoint_config import CheckpointConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_LOOK = 0.05

_log = logging.getLogger(__name__)


class Runs:
    """Starts Spark's queries for one writer, one at a time. Owns the coordinator in the JVM."""

    def __init__(
        self,
        writer: DataStreamWriter,
        config: CheckpointConfig,
        files: HadoopFiles,
        location: str,
        path: str | None,
        table: str | None,
        *,
        settings: Mapping[str, str] | None = None,
        parent: SparkSession | None = None,
        kept: Mapping[str, str | None] | None = None,
    ) -> None:
        """`parent`: the user's session, if the writer has one of its own; None: it is the writer's. `kept`: the
        settings that results depend on, as at the query's start by hand; None: this is it."""
        self._writer = writer
        self._config = config
        self._files = files
        self._location = location
        self._target = (path, table)
        self._settings = dict(settings or {})
        self._session = writer._df.sparkSession
        self._parent = parent or self._session
        self._kept = values_of(self._session.conf, OF_RESULTS) if kept is None else dict(kept)
        self._recovery = Recovery(files)
        #: The report of the last start that had to rebuild state; None: none had to.
        self.report: RecoveryReport | None = None
        self._once: StreamingQuery | None = None
        self._next: Runs | None = None
        sink = SinkLog.of(writer, path, table, files)
        self.driver = self._register()
        self._replay = BatchReplay(
            writer,
            files,
            location,
            self.driver,
            self._recovery,
            settings={**LONG_LOGS, **self._of_query},
            forced=config.forced,
        )
        self._state = StateRecovery(
            writer,
            files,
            sink,
            self.driver,
            self._recovery,
            self._replay,
            settings=self._of_query,
            prefer_checkpoint=config.prefer_checkpoint_for_recovery,
        )

    def _register(self) -> Any:
        checkpointing = java_checkpointing(self._session)
        # It is here that the query's settings are held against the state there is, before anything is written.
        with starting_with(self._session.conf, self._of_query), translate("start the query"):
            return owned(checkpointing.start(self._session._jsparkSession, self._location, self._config.to_spec()))

    def begin(self, restore: int | None = None, drains: bool = False) -> StreamingQuery:
        """Recovers the state if that is needed, and starts the query.

        Args:
            restore: number of the checkpoint to recover from, by hand.
            drains: all rows that wait are processed in the batch that is planned for them, however long it takes.

        Raises:
            StreamingQueryException: a replayed batch failed.
            SnaplineError: no checkpoint will do.
        """
        self.report = None
        self.recover(restore)
        self._mark_unaligned()
        if self._config.takes_checkpoints:
            if not self._files.exists(INTERVAL_MARK):
                self._files.write_new(INTERVAL_MARK, make_mark(self._files))
        else:
            self._files.delete(INTERVAL_MARK)
        unfinished = self._recovery.unfinished()
        if rows_wait(self._files):
            plan_batch_without_data(self._files)
        self.driver.goOn(self._recovery.unfinished() if drains else unfinished)
        if self._config.takes_checkpoints and not self._recovery.has_committed and has_initial_state(self._writer._df):
            # A replay that began before the first checkpoint would read the initial state anew.
            self.driver.trigger(False)
        self._recovery.clear_the_way()
        path, table = self._target
        writer = self._writer
        logs = LONG_LOGS if self._config.takes_checkpoints else {}
        with starting_with(self._session.conf, {**logs, **self._of_query, **start_of(self._writer)}):
            before = self._running()
            query = writer.start(path) if table is None else writer.toTable(table)
            beside = self._running() - before - {str(query.id)}
        show_table(self._parent, writer)
        if beside:
            _log.warning(
                "The query %s was started at the same moment, and has taken over settings that are for this one alone. "
                "Stop it and start it again, or give it a session of its own (spark.newSession()).",
                ", ".join(sorted(beside)),
            )
        return query

    def _running(self) -> set[str]:
        """Ids of the session's queries. Those under a coordinator wait for each other."""
        return {str(query.id) for query in self._session.streams.active}

    def _mark_unaligned(self) -> None:
        """Before a batch is cut; taken away when no batch that was may be run again."""
        marked = self._files.exists(UNALIGNED_MARK)
        if self._config.unaligned and not marked:
            self._files.write_new(UNALIGNED_MARK, b"")
        elif marked and self._is_like_any_other and self._recovery.unfinished() < 0 and not rows_wait(self._files):
            self._files.delete(UNALIGNED_MARK)
            self._files.delete(CUTS)

    @property
    def _is_like_any_other(self) -> bool:
        """Whether no replay will reach back before this start, and no batch will be cut."""
        return not (self._config.unaligned or self._config.takes_checkpoints)

    def drain(self) -> None:
        """Processes rows that wait, into the sink, and no new ones; first a batch that was planned. No query runs,
        before or after.

        Raises: as :meth:`begin`.
        """
        while rows_wait(self._files) or self._recovery.unfinished() >= 0:
            self._run_once()

    def finish_cut_batch(self) -> None:
        """Runs a batch again that was cut and not committed: the sink may have a part of its rows, and only this folder
        says which. No query runs, before or after.

        Raises: as :meth:`begin`.
        """
        batch = self._recovery.unfinished()
        if batch >= 0 and rows_wait(self._files, batch):
            self._run_once()

    def settle(self) -> None:
        """Runs a batch to its end that was planned and not committed: the sink may have a part of its rows, and knows
        them by this query only. No query runs, before or after.

        Raises: as :meth:`begin`.
        """
        if self.may_have_part and self._recovery.unfinished() >= 0:
            self._run_once()

    def _run_once(self) -> None:
        java: Any = self._writer._jwrite
        trigger = field_of(java, "trigger")
        try:
            self._writer.trigger(once=True)
            self._once = self.begin(drains=True)
            # One who stopped it before now has not seen the query.
            if self._replay.is_stopped:
                self._once.stop()
            self._once.awaitTermination()
            self._replay.check_going_on("a batch was being run to its end")
        finally:
            self._once = None
            java.trigger(trigger)

    def end_event_time(self) -> None:
        """Runs a batch without new rows, into the sink, whose watermark is after every event: windows close, and timers
        fire. First what was planned, and what waits. No query runs, before or after.

        Raises: as :meth:`begin`.
        """
        self.drain()
        self.claim()
        plan_batch_without_data(self._files, END_OF_TIME_MS)
        self.drain()

    def finish_drain(self) -> None:
        """Runs the batch at the end of event time to its end, into the sink, where :meth:`end_event_time` was cut
        short, and makes its state durable. No query runs, before or after.

        Raises: as :meth:`begin`.
        """
        # A recovery that was cut short hides what is planned.
        self.catch_up()
        self.drain()
        self.catch_up()

    def recover(self, restore: int | None = None) -> None:
        """Brings the state in storage to the newest batch that was committed, if it is behind.

        Args:
            restore: as for :meth:`begin`.

        Raises:
            StreamingQueryException: a replayed batch failed.
            SnaplineError: no checkpoint will do.
        """
        chosen = None if restore is None else self._state.chosen(restore)
        self.claim()
        self._end_run_before()
        # The last batch of a drain runs by another trigger.
        if self.is_real_time and not is_draining(self._files):
            self._recovery.discard_planned()
        self.report = self._state.run(chosen) or self.report

    def _end_run_before(self) -> None:
        """A checkpoint of it that is being written may take as long as any."""
        with translate("end the run before"):
            self.driver.recovering()
            deadline = time.monotonic() + self._config.timeout.total_seconds()
            while self.driver.isCompleting():
                time.sleep(_LOOK)
                self._replay.check_going_on("the run before was being ended")
                if time.monotonic() > deadline:
                    raise StorageFailure(
                        f"a checkpoint of the run before is still being written to {self._location}.",
                        "see to the storage; the next start waits for it again.",
                    )

    def stop(self) -> None:
        """For good, and from any thread: a :meth:`begin` under way fails with what it runs again. So does a batch that
        is run to its end, by :meth:`again` of this one too. A query that :meth:`begin` has given back goes on."""
        self._replay.stop()
        for under_way in (self._once, self._next):
            if under_way is not None:
                under_way.stop()

    def claim(self) -> None:
        """Before anything is changed in the folder: from here on it is this driver's, until another one claims it.

        Raises:
            QueryTakenOver: another one has.
        """
        with translate("claim the checkpoint folder"):
            self.driver.claimFolder()

    def taken_over(self) -> QueryTakenOver | None:
        """The error that this query has failed with, if another driver has claimed the folder since."""
        text = str(self.driver.takenOver())
        found, _, action = text.removeprefix(f"[{QueryTakenOver.code}] ").partition(" Do: ")
        return QueryTakenOver(found, action) if text else None

    def check_still_owned(self) -> None:
        """After the end: another driver may have the folder by now, and its query is not to be disturbed.

        Raises:
            QueryTakenOver: one has.
        """
        with translate("look whether another driver has the checkpoint folder"):
            is_taken_over = bool(self.driver.isTakenOver())
        if is_taken_over:
            raise self.taken_over() or QueryTakenOver(
                f"{self._location} was claimed by another driver after this one.", "ask the query that runs there."
            )

    def catch_up(self) -> None:
        """Makes the state durable up to the newest batch that was committed. No query runs, before or after.

        Raises: as :meth:`recover`.
        """
        self.recover()
        if self._files.exists(INTERVAL_MARK):
            # Replayed batches are durable by themselves.
            self._files.delete(INTERVAL_MARK)
            self._files.write_new(INTERVAL_MARK, make_mark(self._files))

    def again(self) -> Runs:
        """For the same writer, when the query has ended: with a coordinator of its own."""
        path, table = self._target
        self._next = Runs(
            self._writer,
            self._config,
            self._files,
            self._location,
            path,
            table,
            settings=self._settings,
            parent=self._parent,
            kept=self._kept,
        )
        return self._next

    @property
    def session(self) -> SparkSession:
        """The query's, with the settings that are for this query alone."""
        return session_with(self._session, self._of_query)

    @property
    def location(self) -> str:
        """The checkpoint folder, as the writer names it."""
        return self._location

    @property
    def has_context(self) -> bool:
        """Whether Spark's context is there: without it no run begins."""
        return not self._session._jsparkSession.sparkContext().isStopped()

    @property
    def takes_checkpoints(self) -> bool:
        """Whether state is durable at checkpoints only."""
        return self._config.takes_checkpoints

    @property
    def may_have_part(self) -> bool:
        """Whether the sink may have a part of a batch, and know it by this query's id, as a function may."""
        writer = WriterSettings.of(self._writer)
        return writer.is_exactly_once or (writer.is_function and not self.is_real_time)

    @property
    def is_real_time(self) -> bool:
        """Whether it runs in Spark's real-time mode."""
        return is_real_time(self._writer)

    @property
    def is_unaligned(self) -> bool:
        """Whether rows may wait in the state."""
        return self._config.unaligned

    @property
    def _of_query(self) -> dict[str, str | None]:
        """Settings of Spark that count for this query alone; None: unset."""
        return {**self._kept, **self._config.of_stores(), **self._settings}

    def set_aside(self, failure: Exception) -> bool:
        """Takes the checkpoint that this run went on from out of the choice, if it failed for its damage."""
        return self._state.set_aside(failure)
