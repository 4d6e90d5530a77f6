"""Types of states: Spark's, or pickled Python objects."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType, VariantType

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
        InvalidConfiguration: it is no type, a pickle, or has a part whose equal values can be different bytes.
    """
    found = resolve(kind, what)
    check_key(kind if kind is PICKLED else found, f"{what} is {kind!r}")
    return found


def check_key(kind: DataType | Pickled, found: str) -> None:
    """Equal keys have to be equal bytes, here and in the store.

    Raises:
        InvalidConfiguration: they would not be; ``found`` says what is of this type.
    """
    part = "a pickle" if isinstance(kind, Pickled) else _unequal(kind)
    if part is not None:
        raise InvalidConfiguration(
            f"{found}, and equal keys must have equal bytes, which those of {part} need not have.",
            "use a type of Spark without maps, variants and collations; to_json() makes text of any of them.",
        )


def check_order(kind: DataType, found: str) -> None:
    """Spark orders neither maps nor variants.

    Raises:
        InvalidConfiguration: there is one in the type; ``found`` says what is of this type.
    """
    part = _part(kind, _without_order)
    if part is not None:
        raise InvalidConfiguration(f"{found}, and {part} has no order.", "use other columns.")


def _unequal(kind: DataType) -> str | None:
    """The part of a type whose equal values may differ in bytes."""
    return _part(kind, lambda leaf: _collated(leaf) or _without_order(leaf))


def _without_order(kind: DataType) -> str | None:
    return f"a {kind.typeName()}" if isinstance(kind, (MapType, VariantType)) else None


def _collated(kind: DataType) -> str | None:
    if not isinstance(kind, StringType) or kind.collation in (None, "UTF8_BINARY"):
        return None
    return f"a string with the collation {kind.collation}"


def _part(kind: DataType, name: Callable[[DataType], str | None]) -> str | None:
    """The first part of a type, at any depth, that has a name here."""
    if isinstance(kind, StructType):
        return next(filter(None, (_part(field.dataType, name) for field in kind.fields)), None)
    return _part(kind.elementType, name) if isinstance(kind, ArrayType) else name(kind)
