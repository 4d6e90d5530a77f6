"""What a function is given: in ``open`` to ask for state, in the other methods to know where it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol

from snapline.errors import InvalidConfiguration
from snapline.functions.metrics import MetricGroup
from snapline.functions.output_tag import OutputTag
from snapline.functions.time import from_millis, to_millis
from snapline.state.cursor import BEFORE_ALL, NEVER, BatchTime, Cursor
from snapline.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from snapline.state.folding_descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from snapline.state.list import ListState
from snapline.state.map import MapState
from snapline.state.python_types import Acc, In, K, Out, T, V
from snapline.state.reducing import AggregatingState, ReducingState
from snapline.state.stored_map import StoredMap
from snapline.state.value import ValueState

EVENT, PROCESSING = 0, 1
TimeDomain = Literal["event", "processing"]


class RuntimeContext(ABC):
    """The context of ``open``. States can be asked for only there."""

    @abstractmethod
    def _state(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        """The handle of a state; the kind is what the method called is for."""

    @abstractmethod
    def _stored_map(self, descriptor: MapStateDescriptor[Any, Any], *, values: bool = False) -> StoredMap:
        """A map for Snapline's own functions, which give its keys as the store has them; ``values``: these too."""

    def get_state(self, descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """A value per key."""
        return self._state(descriptor, ValueStateDescriptor)  # type: ignore[no-any-return]

    def get_list_state(self, descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list per key."""
        return self._state(descriptor, ListStateDescriptor)  # type: ignore[no-any-return]

    def get_map_state(self, descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """A map per key."""
        return self._state(descriptor, MapStateDescriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """A value per key that is reduced with what is added."""
        return self._state(descriptor, ReducingStateDescriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(
        self, descriptor: AggregatingStateDescriptor[In, Acc, Out]
    ) -> AggregatingState[In, Acc, Out]:
        """An accumulator per key."""
        return self._state(descriptor, AggregatingStateDescriptor)  # type: ignore[no-any-return]

    @abstractmethod
    def delete_if_exists(self, name: str) -> None:
        """Removes a state that an earlier version of the function asked for, of all keys, for good.

        It is gone with the first micro-batch. This version must not ask for it.
        """

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where counters and gauges are made."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """The partition; 0 on the driver."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """The number of partitions; 1 on the driver."""

    @abstractmethod
    def get_batch_key(self) -> str:
        """Names the query, the micro-batch and the partition, the same when the batch runs again.

        Empty on the driver, and for a bounded DataFrame.
        """


class TimerSink(Protocol):
    """Takes what functions do to timers."""

    def register(self, slot: int, time: int, domain: int) -> None: ...

    def delete(self, slot: int, time: int, domain: int) -> None: ...

    def times(self, domain: int) -> list[int]: ...


class TimerService:
    """Timers of the current key. Times are milliseconds, or datetimes (naive: in the session's time zone)."""

    __slots__ = ("_cursor", "_time", "_timers", "_zone")

    def __init__(self, timers: TimerSink, cursor: Cursor, time: BatchTime, zone: tzinfo | None) -> None:
        self._timers = timers
        self._cursor = cursor
        self._time = time
        self._zone = zone

    @property
    def _is_bounded(self) -> bool:
        """Whether the rows are those of a bounded DataFrame, at whose end every timer fires."""
        return self._time.is_bounded

    def current_processing_time(self) -> int:
        """The time of the micro-batch, in ms: the same for all its rows, and again when it is run again.

        In real-time mode it is the clock's, which goes on while the micro-batch lasts.
        """
        return self._time.processing

    def current_watermark(self) -> int:
        """The watermark in ms; without one the least number of 64 bits, as in Flink."""
        return BEFORE_ALL if self._time.watermark is None else self._time.watermark

    def watermark_before_rows(self) -> int:
        """The watermark, in ms, up to which the micro-batches before have fired timers: rows not after it are late.

        Without one the least number of 64 bits. The current watermark comes after the rows of the micro-batch.
        """
        return BEFORE_ALL if self._time.before_rows is None else self._time.before_rows

    def register_event_time_timer(self, time: int | datetime) -> None:
        """Has ``on_timer`` called when the watermark reaches the time. The same time twice is one timer.

        Raises:
            InvalidConfiguration: the stream has no watermark, so that the timer would never fire.
        """
        millis = time if type(time) is int and BEFORE_ALL <= time <= NEVER else to_millis(time, self._zone)
        self._timers.register(self._cursor.slot, millis, EVENT)
        if self._time.watermark is None:
            raise no_event_time()

    def register_processing_time_timer(self, time: int | datetime) -> None:
        """Has ``on_timer`` called in the first micro-batch at or after the time."""
        millis = time if type(time) is int and BEFORE_ALL <= time <= NEVER else to_millis(time, self._zone)
        self._timers.register(self._cursor.slot, millis, PROCESSING)

    def delete_event_time_timer(self, time: int | datetime) -> None:
        """Takes back an event-time timer; nothing happens if there is none."""
        self._timers.delete(self._cursor.slot, to_millis(time, self._zone), EVENT)

    def delete_processing_time_timer(self, time: int | datetime) -> None:
        """Takes back a processing-time timer; nothing happens if there is none."""
        self._timers.delete(self._cursor.slot, to_millis(time, self._zone), PROCESSING)

    def list_timers(self, domain: TimeDomain = "event") -> list[int]:
        """The times of the current key's timers, in ms and in order.

        Args:
            domain: those of event time or of ``processing`` time.

        Raises:
            InvalidConfiguration: the function does not say that it ``lists_timers``.
        """
        return self._timers.times(EVENT if domain == "event" else PROCESSING)

    def to_millis(self, time: datetime) -> int:
        """A datetime, as a row has it, in milliseconds."""
        return to_millis(time, self._zone)

    def to_datetime(self, millis: int) -> datetime:
        """Milliseconds as the naive datetime that a row would have."""
        return from_millis(millis, self._zone)


def no_event_time() -> InvalidConfiguration:
    """The error for an event-time timer that would never fire."""
    return InvalidConfiguration(
        "an event-time timer in a stream without a watermark: it would never fire.",
        'give the DataFrame a watermark before key_by: withWatermark("time", "1 minute"); in a test harness give '
        "event_time. Or register a processing-time timer.",
    )


class Keys(Protocol):
    """The keys by slot."""

    def get(self, slot: int) -> Any: ...


class SideOutputs(Protocol):
    """Takes rows of side outputs."""

    def emit(self, tag: OutputTag, value: Any) -> None: ...


class Context:
    """The context of the methods that handle a row, a batch or a timer."""

    __slots__ = ("_cursor", "_keys", "_outputs", "_timer_service", "domain")

    def __init__(self, cursor: Cursor, keys: Keys, outputs: SideOutputs, timer_service: TimerService) -> None:
        self._cursor = cursor
        self._keys = keys
        self._outputs = outputs
        self._timer_service = timer_service
        self.domain: TimeDomain | None = None

    def get_current_key(self) -> Any:
        """The key: the value of a single key column, else a row of all."""
        return self._keys.get(self._cursor.slot)

    def place(self) -> dict[str, Any]:
        """Where the function is, for the text of an error."""
        return {"key": self.get_current_key()}

    def timestamp(self) -> int | None:
        """The event time of the row in ms, if a column has it; in ``on_timer`` the time of the timer."""
        return self._cursor.timestamp

    def current_watermark(self) -> int:
        """As of the timer service."""
        return self._timer_service.current_watermark()

    def timer_service(self) -> TimerService:
        """Timers of the current key."""
        return self._timer_service

    def time_domain(self) -> TimeDomain | None:
        """In ``on_timer`` which kind of timer it is: ``event`` or ``processing``."""
        return self.domain

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emits a row to a side output."""
        self._outputs.emit(tag, value)
