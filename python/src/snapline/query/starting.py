"""Starts a query under a checkpoint coordinator, after bringing its state to where its sink is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snapline.backend import StateBackend, backend_settings
from snapline.errors import InvalidConfiguration
from snapline.query.config import CheckpointConfig
from snapline.query.hadoop_files import HadoopFiles
from snapline.query.listener import CheckpointListener
from snapline.query.logical_plan import WriterSettings
from snapline.query.plan_checks import check_replayable
from snapline.query.restart import NoRestart, RestartStrategy
from snapline.query.runs import Runs
from snapline.query.supervised import SupervisedQuery

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

LOCATION = "checkpointlocation"


def start(
    writer: DataStreamWriter,
    config: CheckpointConfig | None = None,
    *,
    path: str | None = None,
    table: str | None = None,
    state_backend: StateBackend | None = None,
    restore: int | None = None,
    restart: RestartStrategy | None = None,
    listeners: Sequence[CheckpointListener] = (),
) -> SupervisedQuery:
    """Starts a streaming query with numbered checkpoints.

    With an interval, state is durable at checkpoints only. After a failure the newest sound checkpoint is taken, and
    the batches that the sink has since are run again into a sink that keeps nothing, one by one as they were; this
    call returns when that is done and the query itself runs.

    Args:
        writer: as for ``writer.start()``; the option ``checkpointLocation`` must be set.
        config: when checkpoints are taken, and what becomes of them. None: what the session sets under
            ``spark.snapline.execution.checkpointing.``.
        path: as in ``writer.start(path)``.
        table: as in ``writer.toTable(table)``.
        state_backend: where this query's working state is; None: as the session has it.
        restore: number of the checkpoint to begin with; None: the newest that is sound, where one is needed.
        restart: whether a failed query starts again by itself; None: it does not.
        listeners: told of every checkpoint.

    Raises:
        InvalidConfiguration: a setting does not fit, or a batch of this query could not be replayed.
        StateNotFound: there is no checkpoint of the number asked for.
        CheckpointDamaged: no checkpoint is sound, or what a replay needs is missing.
        StreamingQueryException: a replayed batch failed.
    """
    session = writer._df.sparkSession
    if config is None:
        config = CheckpointConfig.from_conf(_session_settings(session))
    location = WriterSettings.of(writer).options.get(LOCATION)
    if location is None:
        raise InvalidConfiguration(
            "the writer has no checkpointLocation.", 'set one: writer.option("checkpointLocation", "…").'
        )
    if path is not None and table is not None:
        raise InvalidConfiguration("both path and table are given.", "leave out one of them.")
    if config.takes_checkpoints:
        check_replayable(writer)
    settings = backend_settings(state_backend, None)
    runs = Runs(writer, config, HadoopFiles(session, location), location, path, table, settings)
    return SupervisedQuery.started(runs, restart or NoRestart(), restore, listeners)


def _session_settings(session: object) -> dict[str, str]:
    java = session._jsparkSession.conf().getAllAsJava()  # type: ignore[attr-defined]
    return {str(name): str(java[name]) for name in java}
