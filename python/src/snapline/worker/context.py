"""``open``'s context in a task: it gives handles over the caches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from snapline.errors import InvalidConfiguration
from snapline.functions.context import RuntimeContext
from snapline.functions.metrics import MetricGroup
from snapline.functions.recording import check_descriptor
from snapline.state.cursor import BatchTime, Cursor
from snapline.state.descriptors import MapStateDescriptor, StateDescriptor
from snapline.state.handles import make_handle, stored_map
from snapline.state.spec import StateSpec
from snapline.state.stored_map import StoredMap
from snapline.worker.remote_state import RemoteState


class TaskContext(RuntimeContext):
    """Gives the states that the driver has seen, and no others."""

    def __init__(
        self,
        states: Mapping[str, RemoteState],
        cursor: Cursor,
        time: BatchTime,
        zone: tzinfo | None,
        partition: int,
        partitions: int,
        batch_key: str,
    ) -> None:
        self._states = states
        self._cursor = cursor
        self._time = time
        self._zone = zone
        self._partition = partition
        self._partitions = partitions
        self._batch_key = batch_key
        self._is_open = False
        self.metrics = MetricGroup()

    def end_of_open(self) -> None:
        self._is_open = True

    def _state(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        check_descriptor(descriptor, kind)
        state = self._declared(descriptor)
        handle = make_handle(descriptor, state.spec, state.cache, self._cursor, self._time, self._zone)
        if vars(descriptor).get("namespace") is not None:
            self._cursor.namespaced.append(handle)
        return handle

    def _stored_map(self, descriptor: MapStateDescriptor[Any, Any], *, values: bool = False) -> StoredMap:
        state = self._declared(descriptor)
        return stored_map(state.spec, state.cache, self._cursor, self._zone, values)

    def _declared(self, descriptor: StateDescriptor) -> RemoteState:
        if self._is_open:
            raise InvalidConfiguration(
                f"state {descriptor.name} is asked for after open().", "ask for all states in open()."
            )
        state = self._states.get(descriptor.name)
        if state is None or state.spec != StateSpec.of(descriptor):
            raise InvalidConfiguration(
                f"open() asks for {descriptor!r} in a task, and did not on the driver.",
                "let open() ask for the same states everywhere: they belong to the query.",
            )
        return state

    def delete_if_exists(self, name: str) -> None:
        """The operator has removed it."""

    def get_metrics_group(self) -> MetricGroup:
        return self.metrics

    def get_index_of_this_subtask(self) -> int:
        return self._partition

    def get_number_of_parallel_subtasks(self) -> int:
        return self._partitions

    def get_batch_key(self) -> str:
        return self._batch_key
