"""Starts a query in Spark's real-time mode, which by itself lets neither our store in nor our operator."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from snapline.jar import PROVIDER_CLASS
from snapline.java_api import frame_with, java_session_internals
from snapline.plan.logical_plan import WriterSettings, set_field
from snapline.plan.obstacles import REAL_TIME
from snapline.session import PROVIDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# Taken by the jar's RealTimeRule, which sets the store when Spark has looked.
_PROVIDER_BEHIND_CHECK = "spark.snapline.real-time.provider"
# The whole check of Spark; plan.real_time has made it, with our operator on the list.
_CHECK = "spark.sql.streaming.realTimeMode.allowlistCheck"
_POLL = 0.01


def give_own_session(writer: DataStreamWriter) -> None:
    """A session for this query alone, in which Spark does not look at the operators: no other query sees that.

    Listeners of queries that the user's session has now are told of this query too.
    """
    before: Any = writer._df.sparkSession
    frame = frame_with(writer._df, {_CHECK: "false"})
    own: Any = frame.sparkSession
    for listener in before._jsparkSession.streams().listListeners():
        own._jsparkSession.streams().addListener(listener)
    java: Any = writer._jwrite
    set_field(java, "ds", frame._jdf)
    writer._df = frame
    writer._spark = own
    # Spark takes a plan with a keyed function for one without state.
    writer.option("asyncProgressTrackingEnabled", "false")


def is_real_time(writer: DataStreamWriter) -> bool:
    """Whether its query runs in real-time mode."""
    return WriterSettings.of(writer).trigger == REAL_TIME


class Running(Protocol):
    """A query, as far as it has to be watched."""

    @property
    def isActive(self) -> bool: ...  # Spark's name

    @property
    def lastProgress(self) -> Any: ...  # Spark's name


def wait_for_batch_end(query: Running) -> None:
    """Until the micro-batch under way has ended, or the query has: only then its rows are in the state."""
    before = _last_batch(query)
    # A run that was started again meanwhile has said nothing of a batch yet.
    while query.isActive and _last_batch(query) <= before:
        time.sleep(_POLL)


def _last_batch(query: Running) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])


def show_table(parent: SparkSession, writer: DataStreamWriter) -> None:
    """The table of the sink `memory` in the session that the user has, after each start: Spark makes a new one then."""
    settings = WriterSettings.of(writer)
    name = settings.options.get("queryname")
    if settings.trigger == REAL_TIME and settings.format.lower() == "memory" and name is not None:
        made = writer._df.sparkSession.table(name)
        java_session_internals(parent).under(parent._jsparkSession, made._jdf).createOrReplaceTempView(name)


def start_of(writer: DataStreamWriter) -> Mapping[str, str | None]:
    """Settings for the moment in which the query of this writer starts; None: unset."""
    if not is_real_time(writer):
        return {}
    return {PROVIDER: None, _PROVIDER_BEHIND_CHECK: PROVIDER_CLASS}
