"""Types of states: Spark's, or pickled Python objects."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from pyspark.sql.types import BinaryType, DataType, MapType

from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_type


class Pickled(Enum):
    """The type of :data:`PICKLED`."""

    PICKLED = "pickled"

    def __repr__(self) -> str:
        return "PICKLED"


PICKLED: Final = Pickled.PICKLED
"""Any Python object, stored as its pickle: convenient, opaque to SQL, and slower than a type of Spark."""

StateType: TypeAlias = str | DataType | Pickled


def resolve(kind: StateType, what: str) -> DataType:
    """The type in the store.

    Raises:
        InvalidConfiguration: it is no type; ``what`` names it in the message.
    """
    if kind is PICKLED:
        return BinaryType()
    if isinstance(kind, str):
        return parse_type(kind)
    if isinstance(kind, DataType):
        return kind
    raise InvalidConfiguration(
        f"{what} is {kind!r}.", 'give a type of Spark ("long", LongType(), "struct<a:int>") or snapline.PICKLED.'
    )


def resolve_key(kind: StateType, what: str) -> DataType:
    """The type of keys: one whose equal values are equal bytes.

    Raises:
        InvalidConfiguration: it is no type, a pickle, or a map.
    """
    found = resolve(kind, what)
    if kind is PICKLED or isinstance(found, MapType):
        raise InvalidConfiguration(
            f"{what} is {kind!r}: equal keys must have equal bytes.", "use a type of Spark that is no map."
        )
    return found
