"""Starts a query under a checkpoint coordinator, after bringing its state to where its sink is."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from snapline.errors import InvalidConfiguration, hide_passwords
from snapline.folder.end_of_time import is_draining, was_drained
from snapline.folder.hadoop_files import HadoopFiles
from snapline.java_api import is_connect
from snapline.plan.logical_plan import WriterSettings
from snapline.plan.plan_checks import (
    check_at_least_once,
    check_replayable,
    check_unaligned,
    find_obstacles,
    keeps_state,
    warn_of,
)
from snapline.plan.real_time import check_real_time
from snapline.query.leaving_executors import warn_of_leaving_executors
from snapline.query.listener import CheckpointListener
from snapline.query.real_time import give_own_session, is_real_time
from snapline.query.remote import start_remote
from snapline.query.restart import NoRestart, RestartStrategy
from snapline.query.runs import Runs
from snapline.query.supervised import SupervisedQuery
from snapline.settings.backends import (
    CHECKPOINT_LOCATION,
    CheckpointStorage,
    StateBackend,
    StateBackendConfig,
    backend_settings,
)
from snapline.settings.checkpoint_config import CheckpointConfig
from snapline.settings.names import INCREMENTAL

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_log = logging.getLogger(__name__)

LOCATION = "checkpointLocation"
NAME = "queryName"


def start(
    writer: DataStreamWriter,
    config: CheckpointConfig | None = None,
    *,
    path: str | None = None,
    table: str | None = None,
    state_backend: StateBackend | StateBackendConfig | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    restore: int | None = None,
    restart: RestartStrategy | None = None,
    listeners: Sequence[CheckpointListener] = (),
    from_savepoint: str | None = None,
    parallelism: int | None = None,
    operators: Mapping[int | str, int | str | None] | None = None,
    allow_non_restored_state: bool = False,
) -> SupervisedQuery:
    """Starts a streaming query with numbered checkpoints.

    With an interval, state is durable at checkpoints only. After a failure the newest sound checkpoint is taken.
    Batches that the sink has since are run again, one by one as they were, into a sink that keeps nothing. This call
    returns when that is done and the query itself runs.

    Args:
        writer: as for ``writer.start()``. Its option ``checkpointLocation`` says where the checkpoint folder is;
            without it, the folder is that of the query's name below ``config.directory``, or below what the session
            sets.
        config: when checkpoints are taken, and how long they are kept. None: as the session sets under
            ``spark.snapline.execution.checkpointing.``.
        path: as in ``writer.start(path)``.
        table: as in ``writer.toTable(table)``.
        state_backend: the place of this query's working state, alone or with other settings of its stores. None, and
            settings that it leaves out: as the session has them.
        checkpoint_storage: where this query's state is kept; None: as the session has it. With
            ``JobManagerCheckpointStorage`` there are no checkpoints, and no interval: a restart strategy goes on from
            what the driver holds, as long as there is the driver.
        restore: number of the checkpoint to begin with; None: the newest that is sound, where one is needed.
        restart: the strategy by which a failed query starts again; None: it does not.
        listeners: told of every checkpoint, in this process.
        from_savepoint: begin a new checkpoint folder with this savepoint. If it was begun with it before, the query
            goes on from what is there. Each operator gets the state of the one with its uid, or else of its kind and
            columns; new ones begin empty.
        parallelism: number of partitions of that state; None: as many as it had.
        operators: from an operator of the savepoint to one of this query (each a number or uid), for those that are not
            found by themselves; to None: its state is left out.
        allow_non_restored_state: state of the savepoint that no operator has is left out, and not refused.

    Returns:
        The query. With a writer of Spark Connect it runs beside the server, and paths are the server's.

    Raises:
        InvalidConfiguration: a setting does not fit, or a batch of this query could not be replayed.
        IncompatibleState: the folder holds state of another backend, storage or number of key groups; or query and
            savepoint have other operators, which are named.
        StateNotFound: there is no checkpoint of the number asked for.
        CheckpointDamaged: no checkpoint is sound, or a file that a replay needs is missing.
        StreamingQueryException: a replayed batch failed.
    """
    if is_connect(writer):
        arguments = {
            "config": config,
            "path": path,
            "table": table,
            "state_backend": state_backend,
            "checkpoint_storage": checkpoint_storage,
            "restore": restore,
            "restart": restart,
            "from_savepoint": from_savepoint,
            "parallelism": parallelism,
            "operators": operators,
            "allow_non_restored_state": allow_non_restored_state,
        }
        # It has the same methods.
        return cast(SupervisedQuery, start_remote(start, writer, arguments, listeners))
    session = writer._df.sparkSession
    settings = backend_settings(state_backend, checkpoint_storage)
    if config is None:
        config = CheckpointConfig.from_conf(_session_settings(session))
    elif config.incremental is not None:
        # A backend always says something of it, be it the default.
        settings.pop(INCREMENTAL, None)
    default = settings.pop(CHECKPOINT_LOCATION, None) or session.conf.get(CHECKPOINT_LOCATION, None)
    location = find_location(WriterSettings.of(writer).options, config.directory, default)
    if path is not None and table is not None:
        raise InvalidConfiguration("both path and table are given.", "leave out one of them.")
    if config.takes_checkpoints and not keeps_state(writer._df):
        _log.info("The query keeps no state, so that there is nothing to checkpoint: the interval does not count.")
        config = config.without_interval()
    if is_real_time(writer):
        check_real_time(writer, config)
        give_own_session(writer)
    if config.takes_checkpoints:
        check_replayable(writer, config.forced)
        if not config.upload_changelogs:
            warn_of_leaving_executors(_session_settings(session))
    elif restore is not None:
        warn_of(find_obstacles(writer._df))
    if config.unaligned:
        check_unaligned(writer)
    if config.is_at_least_once:
        check_at_least_once(writer)
    writer.option(LOCATION, location)
    if from_savepoint is not None:
        from snapline.savepoint.begin import begin_from

        begin_from(
            writer,
            location,
            from_savepoint,
            parallelism=parallelism,
            path=path,
            settings=settings,
            operators=operators,
            allow_non_restored_state=allow_non_restored_state,
        )
    elif parallelism is not None or operators is not None or allow_non_restored_state:
        raise InvalidConfiguration(
            "parallelism, operators and allow_non_restored_state are of a savepoint's state.",
            "give from_savepoint= too.",
        )
    files = HadoopFiles(session, location)
    # A batch at the end of event time that is only planned would be run, and the query go on with every row late.
    is_cut_short = is_draining(files)
    if was_drained(files) and not is_cut_short:
        raise _drained(location)
    runs = Runs(writer, config, files, location, path, table, settings=settings, parent=session)
    if is_cut_short:
        _log.warning("The drain of the query on %s was cut short, and is ended now.", hide_passwords(location))
        try:
            runs.finish_drain()
        finally:
            runs.driver.end("SUSPENDED")
        raise _drained(location)
    return SupervisedQuery.started(runs, restart or NoRestart(), restore, listeners)


def find_location(options: Mapping[str, str], directory: str | os.PathLike[str] | None, default: str | None) -> str:
    """The checkpoint folder of a query.

    Args:
        options: the writer's options, with names in lower case.
        directory: the folder set for its checkpoints; ``default``: the one for all queries of the session.

    Raises:
        InvalidConfiguration: none is said, or more than one.
    """
    own, name = options.get(LOCATION.lower()), options.get(NAME.lower())
    if own is not None:
        if directory is not None:
            raise InvalidConfiguration(
                f"the writer has the {LOCATION} {own}, and the checkpoint directory is set to {directory}.",
                "leave out one of them.",
            )
        return own
    parent = default if directory is None else str(directory)
    if parent is None:
        raise InvalidConfiguration(
            f"the writer has no {LOCATION}.",
            f'set one: writer.option("{LOCATION}", "…"); or CheckpointConfig(directory="…"), and a queryName.',
        )
    if not name:
        raise InvalidConfiguration(
            f"the checkpoint folder is to be one below {parent}, and the query has no name to find it by again.",
            f'give it one: writer.queryName("…"); or a folder: writer.option("{LOCATION}", "…").',
        )
    if "/" in name or name in (".", ".."):
        raise InvalidConfiguration(
            f"the query's name {name!r} is no name of a folder below {parent}.",
            f'choose another, or set a folder: writer.option("{LOCATION}", "…").',
        )
    return f"{parent.rstrip('/')}/{name}"


def _drained(location: str) -> InvalidConfiguration:
    return InvalidConfiguration(
        f"the query on {location} was drained: its event time is at its end, and every row would be late.",
        "begin a new checkpoint folder.",
    )


def _session_settings(session: object) -> dict[str, str]:
    java = session._jsparkSession.conf().getAllAsJava()  # type: ignore[attr-defined]
    return {str(name): str(java[name]) for name in java}
