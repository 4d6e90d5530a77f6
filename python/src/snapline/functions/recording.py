"""The driver's run of ``open``: it records which states and metrics there are."""

from __future__ import annotations

from typing import Any, NoReturn

from snapline.errors import InvalidConfiguration
from snapline.functions.context import RuntimeContext
from snapline.functions.metrics import MetricGroup
from snapline.state.descriptors import MapStateDescriptor, StateDescriptor
from snapline.state.stored_map import StoredMap


class RecordingContext(RuntimeContext):
    """Takes descriptors; the handles it gives cannot be used."""

    def __init__(self, is_keyed: bool = True) -> None:
        self._is_keyed = is_keyed
        self.descriptors: dict[str, StateDescriptor] = {}
        self.metrics = MetricGroup()
        self.deleted: list[str] = []

    def delete_if_exists(self, name: str) -> None:
        if not self._is_keyed or not isinstance(name, str) or not name or name.startswith("$"):
            raise InvalidConfiguration(
                f"delete_if_exists({name!r}), where no state can have that name.",
                "give the name that the state's descriptor had in a function with a key.",
            )
        self.deleted.append(name)

    def _state(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        check_descriptor(descriptor, kind)
        if not self._is_keyed:
            raise InvalidConfiguration(
                f"state {descriptor.name} of a stream without a key.",
                "keep operator state (snapline.CheckpointedFunction), or use snapline.key_by(...).",
            )
        if descriptor.name in self.descriptors:
            raise InvalidConfiguration(
                f"two states of the function are named {descriptor.name!r}.", "give each a name of its own."
            )
        self.descriptors[descriptor.name] = descriptor
        return _Handle(descriptor.name)

    def _stored_map(self, descriptor: MapStateDescriptor[Any, Any], *, values: bool = False) -> StoredMap:
        return self._state(descriptor, MapStateDescriptor)  # type: ignore[no-any-return]

    def get_metrics_group(self) -> MetricGroup:
        return self.metrics

    def get_index_of_this_subtask(self) -> int:
        return 0

    def get_number_of_parallel_subtasks(self) -> int:
        return 1

    def get_batch_key(self) -> str:
        return ""


def check_descriptor(descriptor: StateDescriptor, kind: type[StateDescriptor]) -> None:
    """Whether the method that was called is for such descriptors.

    Raises:
        InvalidConfiguration: it is not.
    """
    if not isinstance(descriptor, kind):
        raise InvalidConfiguration(
            f"{descriptor!r} where a {kind.__name__} belongs.", "call the method that fits the descriptor."
        )


class _Handle:
    """A state in ``open``: there is no key, so there is nothing to read or write."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise InvalidConfiguration(
            f"{attribute} of state {self._name} is used in open(), where there is no key.",
            "keep the handle, and use it in the process method and in on_timer.",
        )
