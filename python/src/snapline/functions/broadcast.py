"""Functions beside a broadcast stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from snapline.errors import InvalidConfiguration
from snapline.functions.context import Context, Keys, SideOutputs, TimerService
from snapline.functions.output_tag import OutputTag
from snapline.functions.process import KeyedProcessFunction
from snapline.state.broadcast import BroadcastState, ReadOnlyBroadcastState
from snapline.state.cursor import Cursor
from snapline.state.descriptors import MapStateDescriptor, StateDescriptor
from snapline.state.python_types import K, V

if TYPE_CHECKING:
    from snapline.state.row import Row

BroadcastStates = Mapping[str, BroadcastState[Any, Any]]


class KeyedBroadcastProcessFunction(KeyedProcessFunction):
    """A function of the rows of a key beside a broadcast stream, whose rows every partition sees first.

    ``process_element``, ``process_batch`` and ``on_timer`` are given a context with ``get_broadcast_state``, to read.
    """

    def process_broadcast_element(self, row: Row, ctx: BroadcastContext) -> Iterable[Any] | None:
        """Handles one row of the broadcast stream: the same rows, in the same order, in every partition."""
        raise NotImplementedError


class ReadOnlyContext(Context):
    """What the side with the rows is given: the context as it is without a broadcast stream, and its state to read."""

    __slots__ = ("_states",)

    def __init__(
        self,
        cursor: Cursor,
        keys: Keys,
        outputs: SideOutputs,
        timer_service: TimerService,
        states: BroadcastStates,
    ) -> None:
        super().__init__(cursor, keys, outputs, timer_service)
        self._states = {name: state.read_only() for name, state in states.items()}

    def get_broadcast_state(self, descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
        """A broadcast state, to read."""
        return _named(self._states, descriptor)  # type: ignore[no-any-return]


class KeyedStates(Protocol):
    """Reaches the keyed state of all keys of a partition."""

    def apply(self, descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None: ...


class BroadcastContext:
    """The context of ``process_broadcast_element``."""

    def __init__(
        self, outputs: SideOutputs, timer_service: TimerService, states: BroadcastStates, keyed: KeyedStates | None
    ) -> None:
        self._outputs = outputs
        self._timer_service = timer_service
        self._states = states
        self._keyed = keyed

    def get_broadcast_state(self, descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """A broadcast state, to read and write."""
        return _named(self._states, descriptor)  # type: ignore[no-any-return]

    def apply_to_keyed_state(self, descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls ``function(key, state)`` for each key of this partition that has the state.

        Raises:
            InvalidConfiguration: there is no key, or no such state.
        """
        if self._keyed is None:
            raise InvalidConfiguration(
                "apply_to_keyed_state of a stream without a key.", "use snapline.key_by(...).connect(...)."
            )
        self._keyed.apply(descriptor, function)

    def current_processing_time(self) -> int:
        """The time of the micro-batch, in ms."""
        return self._timer_service.current_processing_time()

    def current_watermark(self) -> int:
        """The watermark in ms."""
        return self._timer_service.current_watermark()

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emits a row to a side output."""
        self._outputs.emit(tag, value)


def _named(states: Mapping[str, Any], descriptor: MapStateDescriptor) -> Any:
    name = descriptor.name
    if name not in states:
        raise InvalidConfiguration(
            f"broadcast state {name!r}, which the query does not have.",
            "give its descriptor to snapline.broadcast(df, ...).",
        )
    return states[name]
