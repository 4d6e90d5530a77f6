"""The descriptors by which a function declares its states in ``open``. They are checked when they are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn, TypeAlias, overload

from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from snapline.errors import InvalidConfiguration
from snapline.state.python_types import K, T, V
from snapline.state.ttl import StateTtlConfig
from snapline.state.types import PICKLED, StateType, resolve, resolve_key

if TYPE_CHECKING:
    from datetime import date, datetime

    from typing_extensions import Unpack

    from snapline.state.python_types import (
        Binaries,
        Bools,
        Dates,
        Floats,
        Ints,
        OfList,
        OfMap,
        Options,
        Strings,
        Times,
    )

Kind = Literal["value", "list", "map"]
Prefetch: TypeAlias = bool | Literal["timers"]


@dataclass(frozen=True)
class StateDescriptor(ABC):
    """What all states have: a name, unique in the function, maybe a time to live, maybe namespaces.

    Attributes:
        name: what the store calls it.
    """

    what: ClassVar[str]
    name: str

    if not TYPE_CHECKING:

        def __getattr__(self, attribute: str) -> NoReturn:
            if attribute == "enable_time_to_live":
                raise InvalidConfiguration(
                    f"{attribute} of {self.what} {self.name}: descriptors do not change once they are made.",
                    "give the descriptor the argument ttl=StateTtlConfig(timedelta(...)).",
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")

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

    def _check_prefetch(self, prefetch: Any) -> None:
        if prefetch not in (True, False, "timers"):
            raise InvalidConfiguration(
                f"the prefetch of {self.what} {self.name} is {prefetch!r}.", 'give True, False or "timers".'
            )

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
class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """One value per key (and namespace).

    Attributes:
        type: the type of the value.
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

    if TYPE_CHECKING:

        @overload
        def __init__(self: ValueStateDescriptor[int], name: str, type: Ints, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: ValueStateDescriptor[float], name: str, type: Floats, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: ValueStateDescriptor[str], name: str, type: Strings, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: ValueStateDescriptor[bool], name: str, type: Bools, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: ValueStateDescriptor[bytes], name: str, type: Binaries, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: ValueStateDescriptor[date], name: str, type: Dates, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: ValueStateDescriptor[datetime], name: str, type: Times, **more: Unpack[Options]) -> None: ...
        @overload
        def __init__(self, name: str, type: StateType, **more: Unpack[Options]) -> None: ...
        def __init__(self, *args: Any, **more: Any) -> None: ...

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._value(self.type)

    @property
    def physical(self) -> tuple[Kind, DataType | None, DataType]:
        return of_namespaces(self._value(self.type), self.namespace)


@dataclass(frozen=True)
class ListStateDescriptor(StateDescriptor, Generic[T]):
    """A list per key (and namespace); arguments as of a value state, ``type`` is that of the elements."""

    what = "list state"
    type: StateType
    _: KW_ONLY
    ttl: StateTtlConfig | None = None
    namespace: StateType | None = None
    prefetch: Prefetch = True

    if TYPE_CHECKING:

        @overload
        def __init__(self: ListStateDescriptor[int], name: str, type: Ints, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self: ListStateDescriptor[float], name: str, type: Floats, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self: ListStateDescriptor[str], name: str, type: Strings, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self: ListStateDescriptor[bool], name: str, type: Bools, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self: ListStateDescriptor[bytes], name: str, type: Binaries, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self: ListStateDescriptor[date], name: str, type: Dates, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self: ListStateDescriptor[datetime], name: str, type: Times, **more: Unpack[OfList]) -> None: ...
        @overload
        def __init__(self, name: str, type: StateType, **more: Unpack[OfList]) -> None: ...
        def __init__(self, *args: Any, **more: Any) -> None: ...

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._value(self.type)
        self._check_prefetch(self.prefetch)
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
        return of_namespaces(value, self.namespace)


@dataclass(frozen=True)
class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """A map per key (and namespace).

    Attributes:
        key_type: the type of the map's keys.
        value_type: the type of its values.
        ttl: how long an entry lives.
        namespace: the type of namespaces, if there are any.
        entry: a column of the input: only the entries that the rows name there are read ahead, all others when they
            are asked for. For maps that grow large and are used an entry at a time.
        prefetch: False: nothing is read ahead. ``timers``: nothing but for ``on_timer``.

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
    prefetch: Prefetch = True

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: MapStateDescriptor[str, int], name: str, key_type: Strings, value_type: Ints, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[str, float],
            name: str,
            key_type: Strings,
            value_type: Floats,
            **more: Unpack[OfMap],
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[str, str], name: str, key_type: Strings, value_type: Strings, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[str, V], name: str, key_type: Strings, value_type: StateType, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[int, int], name: str, key_type: Ints, value_type: Ints, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[int, float], name: str, key_type: Ints, value_type: Floats, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[int, str], name: str, key_type: Ints, value_type: Strings, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[int, V], name: str, key_type: Ints, value_type: StateType, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[K, int], name: str, key_type: StateType, value_type: Ints, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[K, float],
            name: str,
            key_type: StateType,
            value_type: Floats,
            **more: Unpack[OfMap],
        ) -> None: ...
        @overload
        def __init__(
            self: MapStateDescriptor[K, str], name: str, key_type: StateType, value_type: Strings, **more: Unpack[OfMap]
        ) -> None: ...
        @overload
        def __init__(self, name: str, key_type: StateType, value_type: StateType, **more: Unpack[OfMap]) -> None: ...
        def __init__(self, *args: Any, **more: Any) -> None: ...

    def __post_init__(self) -> None:
        self._check(self.ttl, self.namespace)
        self._key()
        self._value(self.value_type)
        self._check_prefetch(self.prefetch)
        if self.entry is not None and (self.namespace is not None or self.prefetch is not True):
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


def of_namespaces(value: DataType, namespace: StateType | None) -> tuple[Kind, DataType | None, DataType]:
    """How a value is stored, or one per namespace."""
    if namespace is None:
        return "value", None, value
    return "map", resolve_key(namespace, "the namespace"), value
