"""Streams whose rows every partition sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.state.descriptors import MapStateDescriptor
from snapline.state.operator_spec import Distribution, OperatorStateSpec
from snapline.stream.columns import check_columns
from snapline.stream.frame import check_frame


@dataclass(frozen=True)
class BroadcastInput:
    """What is known of a broadcast stream beside its rows: columns, order, and the states they are kept in."""

    schema: StructType
    states: tuple[OperatorStateSpec, ...]
    order: tuple[str, ...]

    @classmethod
    def of(
        cls, schema: str | StructType, *descriptors: MapStateDescriptor, order_by: str | Sequence[str] = ()
    ) -> BroadcastInput:
        """
        Raises:
            InvalidConfiguration: there is no descriptor, or one that cannot be, or there is no such column.
        """
        columns = parse_schema(schema, "the schema of the broadcast rows")
        if not descriptors:
            raise InvalidConfiguration(
                "a broadcast without state.", "give snapline.broadcast(df, MapStateDescriptor(name, key, value))."
            )
        states = tuple(OperatorStateSpec.of(each, Distribution.BROADCAST) for each in descriptors)
        names = [order_by] if isinstance(order_by, str) else order_by
        return cls(columns, states, tuple(check_columns(columns, names, "order_by")))


@dataclass(frozen=True)
class BroadcastStream:
    """A broadcast stream, made by ``broadcast``."""

    df: DataFrame
    input: BroadcastInput


def broadcast(df: DataFrame, *descriptors: MapStateDescriptor, order_by: str | Sequence[str] = ()) -> BroadcastStream:
    """Hands the rows of a DataFrame, streaming or not, to every partition of the function they are connected to.

    The rows of a micro-batch are put in one order for all partitions, and for a batch that is run again: by
    ``order_by``, then by all other columns from the left, then by their bytes.

    Args:
        df: a DataFrame with few rows a micro-batch: they are collected on the driver, as for a broadcast join.
        descriptors: the descriptors of the broadcast states.
        order_by: columns of the DataFrame.

    Raises:
        InvalidConfiguration: it is no DataFrame of Spark, there is no descriptor or one that cannot be, or
            there is no such column.
    """
    frame = check_frame(df, "broadcast")
    return BroadcastStream(frame, BroadcastInput.of(frame.schema, *descriptors, order_by=order_by))
