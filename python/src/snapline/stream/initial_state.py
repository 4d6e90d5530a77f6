"""An initial state: a bounded table whose rows are made into state before the first micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.initial_state import InitialStateFunction
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.stream.planning import ProcessPlan, plan_process


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
    ) -> InitialState:
        """
        Raises:
            InvalidConfiguration: the rows are a stream, or the function cannot make state of them.
        """
        if df.isStreaming:
            raise InvalidConfiguration(
                "an initial state that is a stream.",
                "give a bounded DataFrame (spark.read); a second stream is connected: key_by(...).connect(...).",
            )
        return cls(df, keys, plan_initial(df.schema, keys, function, output, side_outputs))


def plan_initial(
    rows: StructType,
    keys: Sequence[str],
    function: KeyedProcessFunction,
    output: str | StructType,
    side_outputs: Sequence[OutputTag],
) -> ProcessPlan:
    """The plan of the function for the rows of an initial state.

    Raises:
        InvalidConfiguration: the function does not take an initial state, or one with these columns.
    """
    if not isinstance(function, KeyedProcessFunction):
        raise InvalidConfiguration(
            f"an initial state for {function!r}.", "give an object of a subclass of snapline.KeyedProcessFunction."
        )
    own = function._initial_state_function()
    return plan_process(rows, keys, own or InitialStateFunction(function), output, side_outputs=side_outputs)


#: The error's text for keys of other types than those of the rows.
OTHER_KEYS = "an initial state by keys of the types {1}, for rows by keys of the types {0}."
