"""``transform_with_state``: the calls of Spark's transformWithState, planned as a keyed function."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, GroupedData
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.stream.keyed import KeyedStream, key_by
from snapline.tws.processor import function_of


def transform_with_state(
    grouped: GroupedData,
    statefulProcessor: StatefulProcessor,
    outputStructType: str | StructType,
    outputMode: str,
    timeMode: str,
    initialState: GroupedData | None = None,
    eventTimeColumnName: str = "",
    *,
    uid: str | None = None,
) -> DataFrame:
    """Runs a processor of rows, as ``grouped.transformWithState(...)`` does, on Snapline's operator and store.

    Args:
        grouped: ``df.groupBy("k")``, by names of columns.
        statefulProcessor: the processor, unchanged. Its rows are ``snapline.Row``: tuples with Spark's names of fields.
        outputStructType: the columns of the rows it yields.
        outputMode: ``Append`` or ``Update``; the processor puts out the same in both.
        timeMode: ``None``, ``ProcessingTime`` or ``EventTime``.
        initialState: a bounded ``df.groupBy("k")`` for ``handleInitialState``.
        eventTimeColumnName: the column of the output that carries the watermark on.
        uid: as of ``KeyedStream.process``.

    Raises:
        InvalidConfiguration: an argument, the processor or its states cannot be.
        FunctionFailed: ``init`` raised on the driver.
        WrongSparkVersion: Spark runs without the jar.
    """
    function = function_of(statefulProcessor, timeMode)
    return _plan(grouped, function, outputStructType, outputMode, initialState, eventTimeColumnName, uid)


def transform_with_state_in_pandas(
    grouped: GroupedData,
    statefulProcessor: StatefulProcessor,
    outputStructType: str | StructType,
    outputMode: str,
    timeMode: str,
    initialState: GroupedData | None = None,
    eventTimeColumnName: str = "",
    *,
    uid: str | None = None,
) -> DataFrame:
    """The same for a processor of pandas frames, as ``grouped.transformWithStateInPandas(...)``.

    Args and raises: as :func:`transform_with_state`. All rows of a key in a micro-batch come in one frame.
    """
    function = function_of(statefulProcessor, timeMode, pandas=True)
    return _plan(grouped, function, outputStructType, outputMode, initialState, eventTimeColumnName, uid)


def _plan(
    grouped: GroupedData,
    function: Any,
    output: str | StructType,
    mode: str,
    initial: GroupedData | None,
    event_time: str,
    uid: str | None,
) -> DataFrame:
    if str(mode).lower() not in ("append", "update"):
        raise InvalidConfiguration(f"the output mode {mode!r}.", "give Append or Update.")
    return _keyed(grouped).process(
        function,
        output,
        output_event_time=event_time or None,
        initial_state=None if initial is None else _keyed(initial),
        uid=uid,
    )


def _keyed(grouped: GroupedData) -> KeyedStream:
    """The rows of ``df.groupBy(...)`` by the same columns.

    Raises:
        InvalidConfiguration: it is none, or groups by an expression that is no column.
    """
    if not isinstance(grouped, GroupedData) or not hasattr(grouped, "_jgd"):
        raise InvalidConfiguration(f"{grouped!r}.", 'give df.groupBy("k") of a classic session.')
    expressions = grouped._jgd.groupingExprs()
    names = []
    for at in range(expressions.size()):
        expression = expressions.apply(at)
        if not str(expression.getClass().getSimpleName()).endswith(("AttributeReference", "UnresolvedAttribute")):
            raise InvalidConfiguration(
                f"a groupBy of {expression.sql()}.", "make it a column with withColumn(), and group by its name."
            )
        names.append(str(expression.name()))
    return key_by(grouped._df, *names)
