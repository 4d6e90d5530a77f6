from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql.types import StructField, StructType, TimestampNTZType, TimestampType

from snapline import (
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    StateTtlConfig,
    TtlTime,
    ValueStateDescriptor,
    key_by,
)
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema
from snapline.stream.planning import plan_process

ROWS = parse_schema("tail string, n long, at timestamp", "rows")
MARKED = StructType([*ROWS.fields[:2], StructField("at", TimestampType(), True, {"spark.watermarkDelayMs": 1000})])
WITHOUT_ZONE = StructType(
    [*ROWS.fields[:2], StructField("at", TimestampNTZType(), True, {"spark.watermarkDelayMs": 1000})]
)


class Plain(KeyedProcessFunction):
    def __init__(self, descriptor: Any = None) -> None:
        self.descriptor = descriptor

    def open(self, ctx: Any) -> None:
        if isinstance(self.descriptor, MapStateDescriptor):
            ctx.get_map_state(self.descriptor)
        elif self.descriptor is not None:
            ctx.get_state(self.descriptor)

    def process_element(self, row: Any, ctx: Any) -> Any:
        return None


def plan(
    rows: StructType = ROWS, keys: Any = ("tail",), function: Any = None, output: Any = "x long", **more: Any
) -> Any:
    return plan_process(rows, keys, function or Plain(), output, **more)


def test_the_result_has_the_columns_and_a_nullable_struct_per_side_output() -> None:
    tag = OutputTag("odd", StructType([StructField("why", TimestampType(), False)]))
    planned = plan(
        MARKED, side_outputs=[tag], late_output="late", output=StructType([StructField("x", TimestampType(), False)])
    )
    assert planned.result.simpleString() == (
        "struct<x:timestamp,odd:struct<why:timestamp>,late:struct<tail:string,n:bigint,at:timestamp>>"
    )
    assert all(field.nullable for field in planned.result.fields)
    assert planned.spec_json() == {
        "states": [],
        "mode": "element",
        "keyed": True,
        "broadcast": False,
        "operator_states": [],
        "parallelism": None,
        "metrics": [],
        "late_output": "late",
        "takes_late_rows": False,
        "deleted_states": [],
        "side_outputs": ["odd", "late"],
        "event_time": "at",
        "output_event_time": None,
        "function": "Plain",
        "uid": None,
    }


def test_the_time_of_a_row_is_the_column_with_the_watermark_or_the_one_asked_for() -> None:
    assert plan().job.event_time is None
    assert plan(MARKED).job.event_time == "at"
    assert plan(event_time="AT").job.event_time == "at"


EVENT_TTL = StateTtlConfig(timedelta(1), time=TtlTime.EVENT_TIME)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": ["tial"]}, "key_by by tial, which is no column"),
        ({"keys": [5]}, "key_by by 5"),
        ({"event_time": "n"}, "event_time is n, of type bigint"),
        ({"rows": WITHOUT_ZONE}, "event_time is at, of type timestamp_ntz.*cast"),
        ({"rows": WITHOUT_ZONE, "event_time": "at"}, "event_time is at, of type timestamp_ntz.*cast"),
        ({"output": "x long, X int"}, "X, x more than once"),
        ({"output": "long"}, "the schema of the output is 'long'"),
        ({"side_outputs": ["odd"]}, "the side output 'odd'"),
        ({"side_outputs": [OutputTag("x", "a int")]}, "x more than once"),
        ({"late_output": "late"}, "no column is the time of a row"),
        ({"function": Plain(ValueStateDescriptor("v", "long", ttl=EVENT_TTL))}, "state v lives in event time"),
        ({"function": Plain(MapStateDescriptor("m", "long", "long", entry="x"))}, "by x, which is no column"),
        ({"function": Plain(MapStateDescriptor("m", "long", "long", entry="tail"))}, "keys of type bigint"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        plan(**arguments)


def test_a_column_of_two_is_refused() -> None:
    twice = StructType([*ROWS.fields, ROWS.fields[0]])
    with pytest.raises(InvalidConfiguration, match="tail, which is not one column but several"):
        plan(twice)


def test_only_frames_of_classic_spark_are_keyed() -> None:
    with pytest.raises(InvalidConfiguration, match="key_by of list"):
        key_by([], "tail")  # type: ignore[arg-type]


def test_side_outputs_have_names_and_columns() -> None:
    with pytest.raises(InvalidConfiguration, match="a side output named ''"):
        OutputTag("", "a int")
    with pytest.raises(InvalidConfiguration, match="the schema of side output odd is 'int'"):
        OutputTag("odd", "int")


def test_the_column_that_carries_the_watermark_on_is_one_of_the_output() -> None:
    assert plan(MARKED, output_event_time="X").spec_json()["output_event_time"] == "x"
    with pytest.raises(InvalidConfiguration, match="output_event_time"):
        plan(MARKED, output_event_time="y")
    with pytest.raises(InvalidConfiguration, match="there is none"):
        plan(ROWS, output_event_time="x")
