"""Functions of matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from snapline.functions.opened import Opened

if TYPE_CHECKING:
    from snapline.functions.context import Context
    from snapline.functions.output_tag import OutputTag
    from snapline.state.row import Row

#: The rows of a match by stage, in the order in which they came; a stage that was left out is not there.
Match = Mapping[str, list["Row"]]


class MatchContext:
    """The context of one match."""

    __slots__ = ("_keyed", "_timestamp")

    def __init__(self, keyed: Context, timestamp: int) -> None:
        self._keyed = keyed
        self._timestamp = timestamp

    def timestamp(self) -> int:
        """The time of the row that made the match complete, or when the time of the match was over; in ms."""
        return self._timestamp

    def current_processing_time(self) -> int:
        """The time of the micro-batch in ms."""
        return self._keyed.timer_service().current_processing_time()

    def current_watermark(self) -> int:
        """The watermark in ms."""
        return self._keyed.current_watermark()

    def get_current_key(self) -> Any:
        """The key of all rows of the match."""
        return self._keyed.get_current_key()

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emits a row to a side output."""
        self._keyed.output(tag, value)


class PatternProcessFunction(Opened, ABC):
    """A function of matches."""

    @abstractmethod
    def process_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        """Handles a match; yields rows of the output."""

    def process_timed_out_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        """Handles the rows of a match whose time was over before it was complete; yields rows of the output."""
        return None


class Select(PatternProcessFunction):
    """A row of the output for each match; None: no row."""

    def __init__(self, function: Callable[[Match], Any]) -> None:
        self._function = function
        self._shown_as = getattr(function, "__name__", type(function).__name__)

    def process_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        row = self._function(match)
        return None if row is None else (row,)


class FlatSelect(Select):
    """Any number of rows for each match."""

    def process_match(self, match: Match, ctx: MatchContext) -> Iterable[Any] | None:
        return self._function(match)  # type: ignore[no-any-return]
