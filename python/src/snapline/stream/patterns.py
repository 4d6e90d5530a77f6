"""Streams of matches: from a keyed stream and a pattern to the operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import check_synchronous_methods
from snapline.pattern.functions import FlatSelect, Match, PatternProcessFunction, Select
from snapline.pattern.operator import PatternFunction
from snapline.pattern.pattern import Pattern, check_pattern
from snapline.stream.by_key import Keyed
from snapline.stream.columns import event_time_of
from snapline.stream.schema import nullable


class PatternStream:
    """The matches of a pattern; what ``KeyedStream.pattern`` gives.

    Raises:
        InvalidConfiguration: it is no pattern, or one that cannot be.
    """

    def __init__(self, stream: Keyed, pattern: Pattern, event_time: str | None) -> None:
        check_pattern(pattern)
        self._stream = stream
        self._pattern = pattern
        self._event_time = event_time_of(stream.schema, event_time)

    def select(
        self, function: Callable[[Match], Any], schema: str | StructType, *, uid: str | None = None
    ) -> DataFrame:
        """One row of the output, or none, for each match."""
        return self.process(Select(_function(function)), schema, uid=uid)

    def flat_select(
        self, function: Callable[[Match], Any], schema: str | StructType, *, uid: str | None = None
    ) -> DataFrame:
        """Any number of rows of the output for each match."""
        return self.process(FlatSelect(_function(function)), schema, uid=uid)

    def process(
        self,
        function: PatternProcessFunction,
        schema: str | StructType,
        *,
        side_outputs: Sequence[OutputTag] = (),
        late_output: OutputTag | str | None = None,
        output_event_time: str | None = None,
        uid: str | None = None,
    ) -> DataFrame:
        """Runs a function over the matches, and over those whose time was over; arguments as of
        ``KeyedStream.process``.
        """
        if not isinstance(function, PatternProcessFunction):
            what = "the class itself" if isinstance(function, type) else "no PatternProcessFunction"
            raise InvalidConfiguration(
                f"{function!r}, {what}.", "give an object of a subclass of snapline.pattern.PatternProcessFunction."
            )
        check_synchronous_methods(function, ("open", "close", "process_match", "process_timed_out_match"))
        rows = nullable(self._stream.schema)
        assert isinstance(rows, StructType)
        return self._stream.process(
            PatternFunction(self._pattern, function, rows, in_event_time=self._event_time is not None),
            schema,
            side_outputs=side_outputs,
            late_output=late_output,
            event_time=self._event_time,
            output_event_time=output_event_time,
            uid=uid,
        )


def _function(function: Any) -> Callable[[Match], Any]:
    if not callable(function):
        raise InvalidConfiguration(f"the function of matches {function!r}.", "give a function of a match, a dict.")
    return function  # type: ignore[no-any-return]
