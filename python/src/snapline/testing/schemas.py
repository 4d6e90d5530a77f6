"""The Arrow schemas of the exchange, as the operator makes them."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType

from snapline.functions.process import Mode
from snapline.state.operator_spec import OperatorStateSpec
from snapline.state.spec import StateSpec
from snapline.worker.frames import (
    BROADCAST_PART,
    CHANGES_PART,
    KEYS_PART,
    NOT_SENT_PART,
    OPERATOR_CHANGES_PART,
    OPERATOR_PART,
    OUTPUT_PART,
    ROWS_PART,
    STATE_PART,
    TIMER_CHANGES_PART,
    TIMERS_PART,
)

_SLOT = pa.field("slot", pa.int32(), False)
_TIME = pa.field("time", pa.int64(), False)
_DOMAIN = pa.field("domain", pa.int8(), False)


# Before Spark 4.2 the mapping knows no zone but UTC. Any: its arguments are another release's where types are checked.
_mapped: Any = to_arrow_type
_TAKES_ZONE = "timezone" in signature(to_arrow_type).parameters


def arrow_type(kind: DataType, zone: str) -> pa.DataType:
    return _mapped(kind, timezone=zone) if _TAKES_ZONE else in_zone(_mapped(kind), zone)


def in_zone(kind: pa.DataType, zone: str) -> pa.DataType:
    """The type with this zone in place of that of its timestamps, which stay the same instants."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, zone)
    if pa.types.is_list(kind):
        return pa.list_(_field_in_zone(kind.value_field, zone))
    if pa.types.is_map(kind):
        return pa.map_(_field_in_zone(kind.key_field, zone), _field_in_zone(kind.item_field, zone))
    if pa.types.is_struct(kind):
        return pa.struct([_field_in_zone(kind.field(i), zone) for i in range(kind.num_fields)])
    return kind


def _field_in_zone(field: pa.Field, zone: str) -> pa.Field:
    return field.with_type(in_zone(field.type, zone))


def arrow_fields(schema: StructType, zone: str) -> list[pa.Field]:
    return [pa.field(field.name, arrow_type(field.dataType, zone), field.nullable) for field in schema.fields]


def exchange_schemas(
    rows: StructType,
    keys: Sequence[str],
    result: StructType,
    states: Sequence[StateSpec],
    *,
    mode: Mode,
    zone: str,
    operator_states: Sequence[OperatorStateSpec] = (),
    broadcast: StructType | None = None,
) -> dict[int, pa.Schema]:
    """All parts by id."""
    entries = [
        pa.field(f"__entry_{i}", pa.int32(), False) for i, state in enumerate(states) if mode == "arrow" and state.entry
    ]
    schemas = {
        ROWS_PART: pa.schema([*arrow_fields(rows, zone), pa.field("__slot", pa.int32(), False), *entries]),
        # Without a key all rows of a partition have its number.
        KEYS_PART: pa.schema(
            [field for name in keys for field in arrow_fields(StructType([rows[name]]), zone)]
            or [pa.field("subtask", pa.int32(), False)]
        ),
        TIMERS_PART: pa.schema([_SLOT, _TIME, _DOMAIN]),
        OUTPUT_PART: pa.schema(arrow_fields(result, zone)),
        TIMER_CHANGES_PART: pa.schema([_SLOT, _TIME, _DOMAIN, pa.field("op", pa.int8(), False)]),
    }
    for i, state in enumerate(states):
        value = pa.field("v", arrow_type(state.value, zone))
        map_key = [] if state.key is None else [pa.field("k", arrow_type(state.key, zone))]
        expiry = [pa.field("x", pa.int64())] if state.ttl else []
        created = [pa.field("c", pa.bool_())] if state.ttl else []
        present = [pa.field("p", pa.bool_(), False)] if state.entry else []
        slot = [] if state.kind == "value" else [_SLOT]
        op = [] if state.kind == "value" else [pa.field("op", pa.int8(), False)]
        schemas[STATE_PART + i] = pa.schema([*slot, *map_key, *present, value, *expiry])
        schemas[NOT_SENT_PART + i] = pa.schema([_SLOT])
        schemas[CHANGES_PART + i] = pa.schema([_SLOT, *op, *map_key, value, *expiry, *created])
    if broadcast is not None:
        schemas[BROADCAST_PART] = pa.schema(arrow_fields(broadcast, zone))
    for i, each in enumerate(operator_states):
        key = pa.field("k", pa.int64() if each.key is None else arrow_type(each.key, zone))
        value = pa.field("v", arrow_type(each.value, zone))
        schemas[OPERATOR_PART + i] = pa.schema([key, value])
        schemas[OPERATOR_CHANGES_PART + i] = pa.schema([pa.field("op", pa.int8(), False), key, value])
    return schemas
