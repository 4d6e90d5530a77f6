"""The bases of functions of streams without a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from snapline.errors import InvalidConfiguration
from snapline.functions.context import Context
from snapline.functions.process import BatchType

if TYPE_CHECKING:
    from snapline.functions.broadcast import BroadcastContext
    from snapline.functions.context import RuntimeContext
    from snapline.state.row import Row


class ProcessFunction:
    """A function of the rows of a stream, partition by partition.

    Override exactly one of the process methods. ``open`` runs once per task and micro-batch, and once on the driver
    when the query is planned. To keep state, be a :class:`CheckpointedFunction` too.

    Attributes:
        batch_type: what ``process_batch`` is given; None: what the annotation of its parameter says, else Arrow.
    """

    batch_type: ClassVar[BatchType | None] = None

    def open(self, ctx: RuntimeContext) -> None:
        """Asks for metrics, and makes what the function needs."""

    def close(self) -> None:
        """Gives back what ``open`` took."""

    def process_element(self, row: Row, ctx: Any) -> Iterable[Any] | None:
        """Handles one row; yields rows of the output, as tuples, dicts or rows."""
        raise NotImplementedError

    def process_batch(self, batch: Any, ctx: Any) -> Any:
        """Handles some thousand rows at once; gives or yields data frames of the batch's kind, or rows."""
        raise NotImplementedError


class BroadcastProcessFunction(ProcessFunction):
    """The same beside a broadcast stream, whose rows of a micro-batch every partition sees first."""

    def process_broadcast_element(self, row: Row, ctx: BroadcastContext) -> Iterable[Any] | None:
        """Handles one row of the broadcast stream: the same rows, in the same order, in every partition."""
        raise NotImplementedError


class UnkeyedContext(Context):
    """The context of the methods of functions without a key."""

    __slots__ = ()

    def get_current_key(self) -> Any:
        raise InvalidConfiguration(
            "the current key of a stream without a key.", "use snapline.key_by(...) for functions of keys."
        )

    def place(self) -> dict[str, Any]:
        return {}


class NoTimers:
    """In the place of timers where there is no key."""

    def register(self, slot: int, time: int, domain: int) -> None:
        raise InvalidConfiguration(
            "a timer in a stream without a key.", "timers belong to keys: use snapline.key_by(...)."
        )

    delete = register

    def times(self, domain: int) -> list[int]:
        """There are none."""
        return []
