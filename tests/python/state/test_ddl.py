from __future__ import annotations

import pytest
from pyspark.sql import types as t

from snapline import SnaplineError
from snapline.errors import InvalidConfiguration
from snapline.state.ddl import parse_schema, parse_type


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("long", t.LongType()),
        ("BIGINT", t.LongType()),
        ("tinyint", t.ByteType()),
        ("real", t.FloatType()),
        ("timestamp_ntz", t.TimestampNTZType()),
        ("decimal", t.DecimalType(10, 0)),
        ("decimal(12)", t.DecimalType(12, 0)),
        ("numeric(12, 2)", t.DecimalType(12, 2)),
        ("varchar(7)", t.VarcharType(7)),
        ("interval day to second", t.DayTimeIntervalType(0, 3)),
        ("interval year", t.YearMonthIntervalType(0, 0)),
        ("array<map<string, int>>", t.ArrayType(t.MapType(t.StringType(), t.IntegerType()))),
        ("struct<>", t.StructType([])),
        (
            "struct<a: int not null, `b ``c`: array<date> comment 'it''s'>".replace("''", "\\'"),
            t.StructType(
                [
                    t.StructField("a", t.IntegerType(), False),
                    t.StructField("b `c", t.ArrayType(t.DateType()), True, {"comment": "it's"}),
                ]
            ),
        ),
        ("a int, b date", t.StructType().add("a", t.IntegerType()).add("b", t.DateType())),
        ("`interval` interval day", t.StructType().add("interval", t.DayTimeIntervalType(0, 0))),
    ],
)
def test_types_are_those_of_spark(text: str, kind: t.DataType) -> None:
    assert parse_type(text) == kind


@pytest.mark.parametrize(
    "text", ["", "lung", "array<int", "array<int, int>", "map<int>", "a int b", "struct<a>", "a int;"]
)
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(InvalidConfiguration, match="no type of Spark"):
        parse_type(text)


def test_a_schema_is_columns() -> None:
    schema = t.StructType().add("a", t.IntegerType())
    assert parse_schema("a int", "x") == parse_schema(schema, "x") == schema
    with pytest.raises(SnaplineError, match="the output is 'long'"):
        parse_schema("long", "the output")
