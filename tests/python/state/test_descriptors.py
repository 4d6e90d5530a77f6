from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, LongType, MapType, StringType

from snapline.errors import InvalidConfiguration
from snapline.state import (
    PICKLED,
    AggregateFunction,
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReduceFunction,
    ReducingStateDescriptor,
    StateTtlConfig,
    TtlTime,
    ValueStateDescriptor,
)
from snapline.state.spec import StateSpec

TTL = StateTtlConfig(timedelta(seconds=2), time=TtlTime.EVENT_TIME)


class Sum(AggregateFunction[int, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator


class Larger(ReduceFunction[int]):
    def reduce(self, value1: int, value2: int) -> int:
        return max(value1, value2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ValueStateDescriptor("", "long"), "named ''"),
        (lambda: ValueStateDescriptor("$x", "long"), r"named '\$x'"),
        (lambda: ValueStateDescriptor("x", "lung"), "'lung' is no type"),
        (lambda: ValueStateDescriptor("x", 5), "the type of value state x is 5"),  # type: ignore[call-overload]
        (lambda: ValueStateDescriptor("x", "long", ttl=timedelta(1)), "the ttl of"),  # type: ignore[call-overload]
        (lambda: ValueStateDescriptor("x", "long", namespace=PICKLED), "equal bytes"),
        (lambda: MapStateDescriptor("x", PICKLED, "long"), "equal bytes"),
        (lambda: MapStateDescriptor("x", MapType(StringType(), LongType()), "long"), "equal bytes"),
        (lambda: MapStateDescriptor("x", "long", "long", entry="e", prefetch=False), "entry column e"),
        (lambda: MapStateDescriptor("x", "long", "long", entry="e", namespace="long"), "entry column e"),
        (lambda: ListStateDescriptor("x", "long", ttl=TTL, namespace="long"), "namespaces and a time to live"),
        (lambda: ReducingStateDescriptor("x", 5, "long"), "reduce_function of x is 5"),  # type: ignore[call-overload]
        (lambda: AggregatingStateDescriptor("x", Sum, "long"), "aggregate_function of x"),  # type: ignore[arg-type]
        (lambda: StateTtlConfig(timedelta(0)), "a time to live of"),
        (lambda: StateTtlConfig(5), "a time to live of 5"),  # type: ignore[arg-type]
        (lambda: StateTtlConfig(timedelta(1), update_type="read"), "use one of UpdateType.ON"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        make()


def test_the_operator_is_told_the_physical_form() -> None:
    assert StateSpec.of(ValueStateDescriptor("v", IntegerType(), ttl=TTL)).to_json() == {
        "name": "v",
        "kind": "value",
        "key": None,
        "type": "integer",
        "ttl": True,
        "ttl_time": "event",
        "ttl_ms": 2000,
        "prefetch": True,
        "entry": None,
    }
    named = StateSpec.of(MapStateDescriptor("m", "string", "array<long>", entry="e")).to_json()
    assert (named["kind"], named["key"], named["entry"], named["ttl_ms"]) == ("map", "string", "e", None)
    assert named["type"] == {"type": "array", "elementType": "long", "containsNull": True}
    assert StateSpec.of(ListStateDescriptor("l", PICKLED, prefetch=False)).to_json()["type"] == "binary"


@pytest.mark.parametrize(
    ("descriptor", "kind", "key", "value"),
    [
        (ReducingStateDescriptor("r", Larger(), "long"), "value", None, "bigint"),
        (AggregatingStateDescriptor("a", Sum(), "long", namespace="date"), "map", "date", "bigint"),
        (ValueStateDescriptor("v", PICKLED, namespace="long"), "map", "bigint", "binary"),
        (ListStateDescriptor("l", "long", namespace="long"), "map", "bigint", "array<bigint>"),
        (ListStateDescriptor("l", PICKLED, namespace="long"), "map", "bigint", "binary"),
        (
            MapStateDescriptor("m", "int", "long", namespace="date"),
            "map",
            "struct<namespace:date,key:int>",
            "bigint",
        ),
    ],
)
def test_namespaces_are_keys_of_a_map(descriptor: Any, kind: str, key: str | None, value: str) -> None:
    spec = StateSpec.of(descriptor)
    assert (spec.kind, spec.key and spec.key.simpleString(), spec.value.simpleString()) == (kind, key, value)
