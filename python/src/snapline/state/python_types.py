"""For type checkers: the Python type of each type of Spark in a state, as an object or as DDL text.

Other types, such as structs, arrays and decimals with their digits, are `Any` to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from snapline.state.ttl import StateTtlConfig
from snapline.state.types import StateType

if TYPE_CHECKING:
    # Mypy and pyright have these; at run time nobody needs them. A descriptor whose type is not known is one of Any.
    from typing_extensions import TypedDict, TypeVar

    T = TypeVar("T", default=Any)
    K = TypeVar("K", default=Any)
    V = TypeVar("V", default=Any)
    In = TypeVar("In", default=Any)
    Acc = TypeVar("Acc", default=Any)
    Out = TypeVar("Out", default=Any)

    class Options(TypedDict, total=False):
        """The keyword arguments of every descriptor."""

        ttl: StateTtlConfig | None
        namespace: StateType | None

    class OfList(Options, total=False):
        """The same of a list state."""

        prefetch: bool | Literal["timers"]

    class OfMap(OfList, total=False):
        """The same of a map state."""

        entry: str | None

else:
    from typing import TypeVar

    T, K, V, In, Acc, Out = map(TypeVar, ("T", "K", "V", "In", "Acc", "Out"))

Ints: TypeAlias = (
    Literal["tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"]
    | ByteType
    | ShortType
    | IntegerType
    | LongType
)
Floats: TypeAlias = Literal["float", "real", "double"] | FloatType | DoubleType
Strings: TypeAlias = Literal["string"] | StringType
Bools: TypeAlias = Literal["boolean"] | BooleanType
Binaries: TypeAlias = Literal["binary"] | BinaryType
Dates: TypeAlias = Literal["date"] | DateType
Times: TypeAlias = Literal["timestamp", "timestamp_ltz", "timestamp_ntz"] | TimestampType | TimestampNTZType
