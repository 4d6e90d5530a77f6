"""The Arrow types that the harness gives a function are those that the operator sends."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as t

from snapline.testing.schemas import arrow_type, in_zone

ZONE = "Europe/Berlin"


def test_timestamps_have_the_zone_of_the_session() -> None:
    kind = t.StructType(
        [
            t.StructField("at", t.TimestampType(), False),
            t.StructField("wall", t.TimestampNTZType()),
            t.StructField("by_name", t.MapType(t.StringType(), t.ArrayType(t.TimestampType(), containsNull=False))),
        ]
    )
    at = pa.timestamp("us", ZONE)
    times = pa.list_(pa.field("element", at, nullable=False))
    expected = pa.struct(
        [
            pa.field("at", at, nullable=False),
            pa.field("wall", pa.timestamp("us")),
            pa.field("by_name", pa.map_(pa.string(), pa.field("value", times))),
        ]
    )
    assert arrow_type(kind, ZONE) == expected


def test_a_zone_takes_the_place_of_another() -> None:
    for zone in ("UTC", ZONE):
        assert in_zone(arrow_type(t.ArrayType(t.TimestampType()), zone), "Asia/Tokyo") == arrow_type(
            t.ArrayType(t.TimestampType()), "Asia/Tokyo"
        )
