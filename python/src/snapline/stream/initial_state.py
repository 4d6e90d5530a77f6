"""An initial state: a bounded table whose rows are made into state before the first micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from snapline.errors import InvalidConfiguration
from snapline.functions.initial_state import InitialStateFunction
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.state.ttl import TtlTime
from snapline.stream.columns import event_time_of
from snapline.stream.planning import ProcessPlan, plan_process
from snapline.worker.job import Job


@dataclass(frozen=True)
class InitialState:
    """The rows of an initial state, and the function for them, checked.

    Attributes:
        df: the rows.
        keys: the columns of their keys.
        plan: the function.
    """

    df: DataFrame
    keys: Sequence[str]
    plan: ProcessPlan

    @classmethod
    def of(
        cls,
        df: DataFrame,
        keys: Sequence[str],
        function: KeyedProcessFunction,
        output: str | StructType,
        side_outputs: Sequence[OutputTag],
        after: Job,
    ) -> InitialState:
        """
        Args:
            after: the function, planned for the rows that come after these.

        Raises:
            InvalidConfiguration: the rows are a stream, or the function cannot make state of them.
        """
        if df.isStreaming:
            raise InvalidConfiguration(
                "an initial state that is a stream.",
                "give a bounded DataFrame (spark.read); a second stream is connected: key_by(...).connect(...).",
            )
        return cls(df, keys, plan_initial(df.schema, keys, function, output, side_outputs, after))


def plan_initial(
    rows: StructType,
    keys: Sequence[str],
    function: KeyedProcessFunction,
    output: str | StructType,
    side_outputs: Sequence[OutputTag],
    after: Job,
) -> ProcessPlan:
    """The plan of the function for the rows of an initial state.

    Args:
        after: the function, planned for the rows that come after these.

    Raises:
        InvalidConfiguration: the function does not take an initial state, or one with these columns.
    """
    if not isinstance(function, KeyedProcessFunction):
        raise InvalidConfiguration(
            f"an initial state for {function!r}.", "give an object of a subclass of snapline.KeyedProcessFunction."
        )
    initial = function._initial_state_function() or InitialStateFunction.of(function)
    time = _event_time(rows, after)
    return plan_process(rows, keys, initial, output, side_outputs=side_outputs, event_time=time)


def _event_time(rows: StructType, after: Job) -> str | None:
    """The column that is the time of a row: it has the name of that of the rows that come after.

    Raises:
        InvalidConfiguration: there is none, and a state lives from the time of the row that wrote it. The watermark
            does not stand for it: at first it is the epoch, and the second micro-batch would remove the state.
    """
    name = after.event_time
    if name is None:
        return None
    if name in rows.names and isinstance(rows[name].dataType, (TimestampType, TimestampNTZType)):
        return name
    time = event_time_of(rows, None)
    lives = [each.name for each in after.plan.states if each.ttl is not None and each.ttl.time is TtlTime.EVENT_TIME]
    if time is None and lives:
        raise InvalidConfiguration(
            f"state {lives[0]} lives in event time, and no column {name} of the initial state is the time of a row.",
            f"give its DataFrame a column {name} of time stamps (withColumn): values live from there.",
        )
    return time


#: The error's text for keys of other types than those of the rows.
OTHER_KEYS = "an initial state by keys of the types {1}, for rows by keys of the types {0}."
