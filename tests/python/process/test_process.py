"""Functions without a key, in Spark."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import snapline

from ..process import functions
from .functions import SPLITS, CountingSource, EveryKind, Plain, Table
from .runs import FileQuery

# Workers cannot import the tests.
cloudpickle.register_pickle_by_value(functions)

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
COUNTED = "subtask int, split int, number long"
KINDS = "subtask int, v long, split array<long>, union array<long>, raw array<long>, same long"


def numbers(rows: list[tuple[Any, ...]]) -> dict[int, list[int]]:
    found = defaultdict(list)
    for _, split, number in rows:
        found[split].append(number)
    return {split: sorted(each) for split, each in found.items()}


def counting(parallelism: int | None) -> Any:
    return lambda ticks: snapline.process(ticks, CountingSource(), COUNTED, parallelism=parallelism)


@pytest.mark.parametrize("checkpoint_format", [1, 2])
def test_a_source_goes_on_where_it_was_over_restarts(
    spark: SparkSession, tmp_path: Path, checkpoint_format: int
) -> None:
    spark.conf.set(FORMAT, checkpoint_format)
    query = FileQuery(spark, tmp_path, counting(3), ticks="v long")
    rows = []
    try:
        for _ in range(3):
            query.add("ticks", [(v,) for v in range(3)], files=3)
            rows += query.run()
    finally:
        spark.conf.unset(FORMAT)
    found = numbers(rows)
    assert sorted(found) == list(range(SPLITS))
    assert all(each == list(range(3)) for each in found.values())


def test_it_runs_in_every_partition_first_and_then_where_rows_are(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(
        spark, tmp_path, lambda rows: snapline.process(rows, EveryKind(), KINDS, parallelism=3), rows="v long"
    )
    # One file: partition 0 alone has rows.
    query.add("rows", [(1,), (2,)])
    assert query.run() == [(0, 1, [], [], [], 1), (0, 2, [1], [1], [1], 1)]
    query.add("rows", [(3,)], files=1)
    assert query.run() == [(0, 3, [1, 2], [1, 2], [1, 2], 1)]
    marks = snapline.read_state(str(query.checkpoint), state="$operator", session=spark)
    assert sorted((row.partition, row.key.state, row.value.parallelism) for row in marks.collect()) == [
        (0, "restored", 3),
        (1, "restored", 3),
        (2, "restored", 3),
    ]
    state = snapline.read_state(str(query.checkpoint), state="$operator_split", session=spark)
    assert sorted((row.partition, row.key.position, row.value.value) for row in state.collect()) == [
        (0, 0, 1),
        (0, 1, 2),
        (0, 2, 3),
    ]


def test_another_parallelism_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, counting(3), ticks="v long")
    query.add("ticks", [(1,)])
    query.run()
    other = FileQuery(spark, tmp_path, counting(2), ticks="v long")
    query.add("ticks", [(2,)])
    with pytest.raises(StreamingQueryException, match=r"SNAPLINE-INCOMPATIBLE.* 3 partitions .*parallelism=3"):
        other.run()
    assert query.run() == [(p, s, 1) for p, s, _ in query.out]


def test_without_state_nothing_is_shuffled_and_batches_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([(v,) for v in range(1000)], "v long").repartition(4)
    result = snapline.process(rows, Table(), "v long, rows long")
    plan = result._jdf.queryExecution().executedPlan().toString()
    assert len(re.findall("Exchange", plan)) == len(re.findall("Exchange", explained(rows)))
    assert sorted(row.v for row in result.collect()) == [2 * v for v in range(1000)]
    assert sorted(snapline.process(rows, Plain(), "v long").collect()) == [(v + 1,) for v in range(1000)]
    # One partition of input is not one of output: what comes next has to gather them.
    spread = snapline.process(rows.coalesce(1), Plain(), "v long", parallelism=3)
    assert spread.agg({"v": "count"}).collect() == [(1000,)]


def explained(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


def test_types_schemas_and_evolution(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(
        spark,
        tmp_path,
        lambda rows: snapline.process(rows, functions.Typed("struct<a: int, t: timestamp>"), "found string"),
        rows="v long",
    )
    query.add("rows", [(1,)])
    assert query.run() == [("[]",)]
    query.add("rows", [(2,)])
    assert query.run() == [("[Row(a=1, t=datetime.datetime(2024, 1, 1, 0, 0))]",)]
    wider = FileQuery(
        spark,
        tmp_path,
        lambda rows: snapline.process(
            rows, functions.Typed("struct<a: long, t: timestamp, more: string>"), "found string"
        ),
        rows="v long",
    )
    query.add("rows", [(3,)])
    first, second = (f"Row(a={a}, t=datetime.datetime(2024, 1, 1, 0, 0), more=None)" for a in (1, 2))
    assert wider.run() == [(f"[{first}, {second}]",)]
    query.add("rows", [(4,)])
    with pytest.raises(StreamingQueryException, match="SNAPLINE-INCOMPATIBLE"):
        FileQuery(
            spark,
            tmp_path,
            lambda rows: snapline.process(rows, functions.Typed("struct<a: string>"), "found string"),
            rows="v long",
        ).run()
