"""The operator states of a function, as the operator has to know them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pyspark.sql.types import BinaryType, DataType

from snapline.errors import InvalidConfiguration
from snapline.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor


class Distribution(Enum):
    """How a state is spread over the partitions when their number changes."""

    SPLIT = "split"
    UNION = "union"
    BROADCAST = "broadcast"
    RAW = "raw"


@dataclass(frozen=True)
class OperatorStateSpec:
    """One operator state as it is stored and sent.

    Attributes:
        name: the state's name; no two states of a function share one, whatever their kind.
        distribution: how it is spread when the parallelism changes.
        key: the type of a broadcast state's keys.
        value: the type of values or elements.
        pickled: whether the values are pickles.
    """

    name: str
    distribution: Distribution
    key: DataType | None
    value: DataType
    pickled: bool

    @classmethod
    def of(cls, descriptor: StateDescriptor, distribution: Distribution) -> OperatorStateSpec:
        """
        Raises:
            InvalidConfiguration: the descriptor is of another kind, or asks for what only keyed state has.
        """
        wanted = MapStateDescriptor if distribution is Distribution.BROADCAST else ListStateDescriptor
        if not isinstance(descriptor, wanted):
            raise InvalidConfiguration(
                f"{descriptor!r} where a {wanted.__name__} belongs.", "call the method that fits the descriptor."
            )
        keyed = [name for name in ("ttl", "namespace", "entry") if vars(descriptor).get(name) is not None]
        if keyed:
            raise InvalidConfiguration(
                f"operator state {descriptor.name} has {' and '.join(keyed)}, which is for keyed state.",
                "leave it out: operator state is in memory whole, and the function removes what it does not need.",
            )
        _, key, value = descriptor.physical
        return cls(descriptor.name, distribution, key, value, descriptor.is_pickled)

    def to_json(self) -> dict[str, Any]:
        """As the operator reads it; types as Spark writes them in JSON."""
        return {
            "name": self.name,
            "mode": self.distribution.value,
            "key": None if self.key is None else self.key.jsonValue(),
            "type": self.value.jsonValue(),
        }


#: The state that a function writes as bytes of its own.
RAW_STATE = OperatorStateSpec("$raw", Distribution.RAW, None, BinaryType(), False)
