"""The DataFrame of a planned function."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame

from snapline.errors import InvalidConfiguration
from snapline.jar import EXTENSION_CLASS
from snapline.java_api import coded_errors, java_functions
from snapline.session import EXTENSIONS
from snapline.stream.broadcasting import BroadcastStream
from snapline.stream.planning import ProcessPlan
from snapline.stream.python_function import python_function


def plan_frame(
    frame: DataFrame,
    keys: Sequence[str],
    order: Sequence[str],
    plan: ProcessPlan,
    broadcast: BroadcastStream | None = None,
) -> DataFrame:
    """
    Raises:
        InvalidConfiguration: the session has no extension of Snapline, or function and stream do not fit.
        WrongSparkVersion: Spark runs without the jar.
    """
    session = frame.sparkSession
    api = java_functions(session)
    if not api.isPlannedBy(session._jsparkSession):
        raise InvalidConfiguration(
            f"the session has the jar and not the extension: {EXTENSIONS} is {session.conf.get(EXTENSIONS, '')!r}.",
            f"make it through snapline.configure(SparkSession.builder), or set {EXTENSIONS} to {EXTENSION_CLASS} "
            "(beside others, after a comma) before the first session of the application.",
        )
    entry = python_function(session.sparkContext, plan.job)
    spec = json.dumps(plan.spec_json())
    told = entry, plan.result.json(), spec
    with coded_errors():
        if broadcast is None:
            return DataFrame(api.plan(frame._jdf, list(keys), list(order), *told), session)
        rules, rules_order = broadcast.df._jdf, list(broadcast.input.order)
        return DataFrame(api.connect(frame._jdf, list(keys), list(order), rules, rules_order, *told), session)
