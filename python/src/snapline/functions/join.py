"""The function of an interval join."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from snapline.functions.opened import Opened

if TYPE_CHECKING:
    from snapline.functions.context import Context
    from snapline.functions.output_tag import OutputTag
    from snapline.state.row import Row


class JoinContext:
    """The context of one pair of rows. Times are in ms."""

    __slots__ = ("_keyed", "left_timestamp", "right_timestamp")

    def __init__(self) -> None:
        self._keyed: Context
        self.left_timestamp = self.right_timestamp = 0

    def enter(self, ctx: Context) -> None:
        """A row comes."""
        self._keyed = ctx

    def get_left_timestamp(self) -> int:
        """The time of the left row."""
        return self.left_timestamp

    def get_right_timestamp(self) -> int:
        """The time of the right row."""
        return self.right_timestamp

    def timestamp(self) -> int:
        """The later of the two."""
        return max(self.left_timestamp, self.right_timestamp)

    def get_current_key(self) -> Any:
        """The key of both rows."""
        return self._keyed.get_current_key()

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emits a row to a side output."""
        self._keyed.output(tag, value)


class ProcessJoinFunction(Opened, ABC):
    """A function of two rows of a key whose times lie close enough."""

    @abstractmethod
    def process_element(self, left: Row, right: Row, ctx: JoinContext) -> Iterable[Any] | None:
        """Handles a pair; yields rows of the output."""
