"""Descriptors of states that fold many values into one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Generic, overload

from pyspark.sql.types import DataType

from snapline.errors import InvalidConfiguration
from snapline.state.aggregate import AggregateFunction, ReduceFunction
from snapline.state.descriptors import Kind, StateDescriptor, of_namespaces
from snapline.state.python_types import Acc, In, Out, T
from snapline.state.ttl import StateTtlConfig
from snapline.state.types import StateType

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from snapline.state.python_types import Floats, Ints, Options, Strings


@dataclass(frozen=True)
class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """One value per key (and namespace): what was added, reduced by ``reduce_function(value, added)``."""

    what = "reducing state"
    reduce_function: Callable[[T, T], T] | ReduceFunction[T]
    type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: ReducingStateDescriptor[int],
            name: str,
            reduce_function: Callable[[int, int], int] | ReduceFunction[int],
            type: Ints,
            **more: Unpack[Options],
        ) -> None: ...
        @overload
        def __init__(
            self: ReducingStateDescriptor[float],
            name: str,
            reduce_function: Callable[[float, float], float] | ReduceFunction[float],
            type: Floats,
            **more: Unpack[Options],
        ) -> None: ...
        @overload
        def __init__(
            self: ReducingStateDescriptor[str],
            name: str,
            reduce_function: Callable[[str, str], str] | ReduceFunction[str],
            type: Strings,
            **more: Unpack[Options],
        ) -> None: ...
        @overload
        def __init__(
            self, name: str, reduce_function: ReduceFunction[T], type: StateType, **more: Unpack[Options]
        ) -> None: ...
        @overload
        def __init__(
            self, name: str, reduce_function: Callable[[Any, Any], Any], type: StateType, **more: Unpack[Options]
        ) -> None: ...
        def __init__(self, *args: Any, **more: Any) -> None: ...

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._value(self.type)
        if not isinstance(self.reduce_function, ReduceFunction) and not callable(self.reduce_function):
            raise InvalidConfiguration(
                f"the reduce_function of {self.name} is {self.reduce_function!r}.",
                "give a function of two values, or a ReduceFunction.",
            )

    @property
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        return of_namespaces(self._value(self.type), self.namespace)


@dataclass(frozen=True)
class AggregatingStateDescriptor(StateDescriptor, Generic[In, Acc, Out]):
    """One accumulator per key (and namespace); ``accumulator_type`` is its type in the store."""

    what = "aggregating state"
    aggregate_function: AggregateFunction[In, Acc, Out]
    accumulator_type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._value(self.accumulator_type)
        if not isinstance(self.aggregate_function, AggregateFunction):
            raise InvalidConfiguration(
                f"the aggregate_function of {self.name} is {self.aggregate_function!r}.",
                "give an object of a subclass of AggregateFunction.",
            )

    @property
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        return of_namespaces(self._value(self.accumulator_type), self.namespace)
