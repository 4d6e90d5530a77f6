"""The DataFrame of a planned function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from snapline.errors import InvalidConfiguration
from snapline.jar import EXTENSION_CLASS
from snapline.java_api import coded_errors, is_connect, java_functions
from snapline.session import EXTENSIONS
from snapline.stream.broadcasting import BroadcastStream
from snapline.stream.initial_state import InitialState
from snapline.stream.planning import ProcessPlan
from snapline.stream.python_function import python_function


def plan_frame(
    frame: DataFrame,
    keys: Sequence[str],
    order: Sequence[str],
    plan: ProcessPlan,
    broadcast: BroadcastStream | None = None,
    initial: InitialState | None = None,
) -> DataFrame:
    """
    Args:
        frame: the rows, by ``keys``.
        order: the columns by which the rows of a key are sorted.
        plan: the function.
        broadcast: its broadcast stream.
        initial: its initial state; not with a broadcast stream.

    Raises:
        InvalidConfiguration: the session has no extension of Snapline, or function and stream do not fit.
        WrongSparkVersion: Spark runs without the jar.
    """
    if is_connect(frame):
        return _connected(frame, keys, order, plan, broadcast, initial)
    session = frame.sparkSession
    api = java_functions(session)
    if not api.isPlannedBy(session._jsparkSession):
        raise InvalidConfiguration(
            f"the session has the jar and not the extension: {EXTENSIONS} is {session.conf.get(EXTENSIONS, '')!r}.",
            f"make it through snapline.configure(SparkSession.builder), or set {EXTENSIONS} to {EXTENSION_CLASS} "
            "(beside others, after a comma) before the first session of the application.",
        )
    entry, spec = _told(session, plan)
    told = entry, plan.result.json(), spec
    with coded_errors():
        if initial is not None:
            begins = api.initial(initial.df._jdf, list(initial.keys), *_told(session, initial.plan))
            return DataFrame(api.begin(frame._jdf, list(keys), list(order), begins, *told), session)
        if broadcast is None:
            return DataFrame(api.plan(frame._jdf, list(keys), list(order), *told), session)
        rules, rules_order = broadcast.df._jdf, list(broadcast.input.order)
        return DataFrame(api.connect(frame._jdf, list(keys), list(order), rules, rules_order, *told), session)


def _connected(
    frame: DataFrame,
    keys: Sequence[str],
    order: Sequence[str],
    plan: ProcessPlan,
    broadcast: BroadcastStream | None,
    initial: InitialState | None,
) -> DataFrame:
    from snapline.stream.connect_relation import SecondInput, connect_frame

    second = None
    if broadcast is not None:
        second = SecondInput("connect", broadcast.df, broadcast.input.order)
    elif initial is not None:
        second = SecondInput("begin", initial.df, initial.keys, initial.plan)
    return connect_frame(frame, keys, order, plan, second)


def _told(session: SparkSession, plan: ProcessPlan) -> tuple[Any, str]:
    """The function for Spark's workers, and what the operator has to know of it."""
    return python_function(session.sparkContext, plan.job), json.dumps(plan.spec_json())
