"""What a function says about its states in ``open``. Checked when they are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from snapline.errors import InvalidConfiguration
from snapline.state.aggregate import AggregateFunction, ReduceFunction
from snapline.state.ttl import StateTtlConfig
from snapline.state.types import PICKLED, StateType, resolve, resolve_key

Kind = Literal["value", "list", "map"]


@dataclass(frozen=True)
class StateDescriptor(ABC):
    """What all states have: a name, unique in the function, maybe a time to live, maybe namespaces.

    Attributes:
        name: what the store calls it.
    """

    what: ClassVar[str]
    name: str

    def _check(self, ttl: StateTtlConfig | None, namespace: StateType | None) -> None:
        if not isinstance(self.name, str) or not self.name or self.name.startswith("$"):
            raise InvalidConfiguration(
                f"a {self.what} named {self.name!r}.", "give it a name that is not empty and does not begin with $."
            )
        if ttl is not None and not isinstance(ttl, StateTtlConfig):
            raise InvalidConfiguration(
                f"the ttl of {self.what} {self.name} is {ttl!r}.", "give StateTtlConfig(timedelta(...))."
            )
        if namespace is not None:
            resolve_key(namespace, f"the namespace of {self.what} {self.name}")

    def _value(self, kind: StateType) -> DataType:
        return resolve(kind, f"the type of {self.what} {self.name}")

    @property
    @abstractmethod
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        """How it is stored: the kind, the type of a map's keys, the type of the values."""

    @property
    def is_pickled(self) -> bool:
        """Whether the values in the store are pickles."""
        return any(kind is PICKLED for kind in vars(self).values())


@dataclass(frozen=True)
class ValueStateDescriptor(StateDescriptor):
    """One value per key (and namespace).

    Attributes:
        type: of the value.
        ttl: how long it lives.
        namespace: the type of namespaces, if there are any.

    Raises:
        InvalidConfiguration: an argument cannot be.
    """

    what = "value state"
    type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._value(self.type)

    @property
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        return _values(self._value(self.type), self.namespace)


@dataclass(frozen=True)
class ListStateDescriptor(StateDescriptor):
    """A list per key (and namespace); arguments as of a value state, ``type`` is that of the elements."""

    what = "list state"
    type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None
    prefetch: bool = True

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._value(self.type)
        if self.ttl is not None and self.namespace is not None:
            raise InvalidConfiguration(
                f"list state {self.name} has namespaces and a time to live.",
                "use a map state with both: its entries expire one by one.",
            )

    @property
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        element = self._value(self.type)
        if self.namespace is None:
            return "list", None, element
        # A list of a namespace is one entry of the map; if pickled, as a whole.
        value = element if self.type is PICKLED else ArrayType(element)
        return _values(value, self.namespace)


@dataclass(frozen=True)
class MapStateDescriptor(StateDescriptor):
    """A map per key (and namespace).

    Attributes:
        key_type: of the map's keys.
        value_type: of its values.
        ttl: how long an entry lives.
        namespace: the type of namespaces, if there are any.
        entry: a column of the input: only the entries that the rows name there are read ahead, all others when they
            are asked for. For maps that grow large and are used an entry at a time.
        prefetch: False: nothing is read ahead.

    Raises:
        InvalidConfiguration: an argument cannot be.
    """

    what = "map state"
    key_type: StateType
    value_type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None
    entry: str | None = None
    prefetch: bool = True

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._key()
        self._value(self.value_type)
        if self.entry is not None and (self.namespace is not None or not self.prefetch):
            raise InvalidConfiguration(
                f"map state {self.name} names the entry column {self.entry}, and has namespaces or no prefetch.",
                "leave out the one or the other.",
            )

    def _key(self) -> DataType:
        return resolve_key(self.key_type, f"the key type of {self.what} {self.name}")

    @property
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        value = self._value(self.value_type)
        if self.namespace is None:
            return "map", self._key(), value
        namespace = resolve_key(self.namespace, "the namespace")
        key = StructType([StructField("namespace", namespace, False), StructField("key", self._key(), False)])
        return "map", key, value


@dataclass(frozen=True)
class ReducingStateDescriptor(StateDescriptor):
    """One value per key (and namespace): what was added, reduced by ``reduce_function(value, added)``."""

    what = "reducing state"
    reduce_function: Callable[[Any, Any], Any] | ReduceFunction[Any]
    type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None

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
        return _values(self._value(self.type), self.namespace)


@dataclass(frozen=True)
class AggregatingStateDescriptor(StateDescriptor):
    """One accumulator per key (and namespace); ``accumulator_type`` is its type in the store."""

    what = "aggregating state"
    aggregate_function: AggregateFunction[Any, Any, Any]
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
        return _values(self._value(self.accumulator_type), self.namespace)


def _values(value: DataType, namespace: StateType | None) -> tuple[Kind, DataType | None, DataType]:
    """A value, or one per namespace."""
    if namespace is None:
        return "value", None, value
    return "map", resolve_key(namespace, "the namespace"), value
