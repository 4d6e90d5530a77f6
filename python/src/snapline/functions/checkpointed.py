"""Functions that keep operator state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import tzinfo
from io import BytesIO
from typing import Any, BinaryIO

from snapline.errors import InvalidConfiguration
from snapline.state.broadcast import BroadcastState
from snapline.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from snapline.state.form import ANY, element_form, key_form
from snapline.state.operator_list import OperatorListState
from snapline.state.operator_spec import RAW_STATE, Distribution, OperatorStateSpec
from snapline.state.python_types import K, T, V
from snapline.state.raw import RawStateOutput

OperatorHandle = OperatorListState[Any] | BroadcastState[Any, Any]


class CheckpointedFunction(ABC):
    """What a function has to be, beside its kind, to keep operator state: state of a partition, not of a key.

    In each micro-batch that reaches a partition: ``initialize_state``, ``open``, the rows, ``snapshot_state``.
    """

    @abstractmethod
    def initialize_state(self, ctx: FunctionInitializationContext) -> None:
        """Asks for operator states, and takes up what they hold. Runs once on the driver too, with empty states."""

    @abstractmethod
    def snapshot_state(self, ctx: FunctionSnapshotContext) -> None:
        """Puts into the states what has to outlive the micro-batch."""


class OperatorStateStore:
    """Hands out operator states, by descriptor; in ``initialize_state`` only."""

    def __init__(self, declared: tuple[OperatorStateSpec, ...] | None, handles: dict[str, OperatorHandle]) -> None:
        #: None on the driver, which takes note of what is asked for.
        self._declared = declared
        self._handles = handles
        self.specs: dict[str, OperatorStateSpec] = {}

    def get_list_state(self, descriptor: ListStateDescriptor[T]) -> OperatorListState[T]:
        """A list whose elements are dealt out evenly when the parallelism changes."""
        return self._get(descriptor, Distribution.SPLIT)  # type: ignore[return-value]

    def get_union_list_state(self, descriptor: ListStateDescriptor[T]) -> OperatorListState[T]:
        """A list of which every partition gets all elements when a savepoint is restored."""
        return self._get(descriptor, Distribution.UNION)  # type: ignore[return-value]

    def get_broadcast_state(self, descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """A map that is the same in all partitions."""
        return self._get(descriptor, Distribution.BROADCAST)  # type: ignore[return-value]

    def _get(self, descriptor: StateDescriptor, distribution: Distribution) -> OperatorHandle:
        spec = OperatorStateSpec.of(descriptor, distribution)
        if self.specs.setdefault(spec.name, spec) != spec:
            raise InvalidConfiguration(
                f"two operator states of the function are named {spec.name!r}.", "give each a name of its own."
            )
        if self._declared is not None and spec not in self._declared:
            raise InvalidConfiguration(
                f"initialize_state() asks for {descriptor!r} in a task, and did not on the driver.",
                "let it ask for the same states everywhere: they belong to the query.",
            )
        if spec.name not in self._handles:
            self._handles[spec.name] = operator_handle(spec, None)
        return self._handles[spec.name]


def operator_handle(spec: OperatorStateSpec, zone: tzinfo | None) -> OperatorHandle:
    """An empty state; time stamps are naive in the zone."""
    value = element_form(spec.value, zone, f"the value of state {spec.name}", pickled=spec.pickled)
    if spec.distribution is not Distribution.BROADCAST:
        return OperatorListState(value)
    return BroadcastState(ANY if spec.key is None else key_form(spec.key, zone, f"the key of state {spec.name}"), value)


class FunctionInitializationContext:
    """The context of ``initialize_state``."""

    def __init__(self, store: OperatorStateStore, is_restored: bool, partition: int, partitions: int) -> None:
        self._store = store
        self._is_restored = is_restored
        self._partition = partition
        self._partitions = partitions
        self._raw: list[bytes] = []

    def take_raw(self, parts: list[bytes]) -> None:
        self._raw = parts

    def is_restored(self) -> bool:
        """Whether there was a micro-batch, a savepoint or an initial state before: false once for each partition."""
        return self._is_restored

    def get_operator_state_store(self) -> OperatorStateStore:
        """Where states are asked for."""
        return self._store

    def get_raw_operator_state_inputs(self) -> Iterator[BinaryIO]:
        """The parts of the raw state, each a stream."""
        return (BytesIO(part) for part in self._raw)

    def get_index_of_this_subtask(self) -> int:
        """The partition; 0 on the driver."""
        return self._partition

    def get_number_of_parallel_subtasks(self) -> int:
        """The number of partitions; 1 on the driver."""
        return self._partitions


class FunctionSnapshotContext:
    """The context of ``snapshot_state``."""

    def __init__(self, batch: int, time: int) -> None:
        self._batch = batch
        self._time = time
        self.raw = RawStateOutput()

    def get_batch_id(self) -> int:
        """The number of the micro-batch at whose end the state is taken."""
        return self._batch

    def get_checkpoint_timestamp(self) -> int:
        """The time of the micro-batch in ms."""
        return self._time

    def get_raw_operator_state_output(self) -> RawStateOutput:
        """Where raw state is written to."""
        return self.raw


def recorded_states(function: CheckpointedFunction) -> tuple[OperatorStateSpec, ...]:
    """The operator states that a function asks for: those with a name in order of it, then the raw one."""
    store = OperatorStateStore(None, {})
    function.initialize_state(FunctionInitializationContext(store, False, 0, 1))
    return (*(store.specs[name] for name in sorted(store.specs)), RAW_STATE)
