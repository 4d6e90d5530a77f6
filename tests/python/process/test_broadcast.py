"""Functions beside a broadcast stream, in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import snapline
from snapline.errors import InvalidConfiguration

from ..process import functions
from .functions import RULES, Crooked, Rules, UnkeyedRules
from .runs import FileQuery

cloudpickle.register_pickle_by_value(functions)

KEYED = "k long, v long, product long, last long, seen array<long>, per map<string,long>, rules long"
UNKEYED = "subtask int, v long, rules map<string,long>, rule string"


def keyed(orders: Any, rules: Any) -> Any:
    return snapline.key_by(orders, "k").connect(snapline.broadcast(rules, RULES)).process(Rules(), KEYED)


def unkeyed(function: Any, parallelism: int, order_by: Any = ()) -> Any:
    return lambda rows, rules: snapline.connect(rows, snapline.broadcast(rules, RULES, order_by=order_by)).process(
        function, UNKEYED, parallelism=parallelism
    )


def test_rules_come_before_the_rows_of_their_batch(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, keyed, orders="k long, rule string, v long", rules="rule string, v long")
    query.add("orders", [(k, "a", 1) for k in range(4)])
    query.add("rules", [("a", 2), ("b", 3)])
    assert sorted(query.run()) == [(k, 1, 2, None, [], {}, 2) for k in range(4)]
    # Batches of one side alone; the state of every key is reached, whether it has rows or not.
    query.add("rules", [("add", 7)])
    assert query.run() == []
    query.add("orders", [(k, "b", 5) for k in (0, 3)])
    assert sorted(query.run()) == [(k, 5, 15, 8, [1, k], {"a": 1, "add": 7}, 2) for k in (0, 3)]
    query.add("rules", [("a", 0), ("forget", 1)])
    query.add("orders", [(1, "a", 5)])
    assert query.run() == [(1, 5, 5, None, [1, 1], {"a": 1, "add": 7}, 1)]


def test_every_partition_gets_the_rows_in_one_order(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, unkeyed(UnkeyedRules(), 3), rows="v long", rules="rule string, v long")
    # Three files whose order nobody fixes; the digits of the rules tell the order of the rows.
    query.add("rules", [("x", v) for v in (3, 1, 2, 5, 4)], files=3)
    out = query.run()
    assert {subtask: [(row[3], row[1]) for row in out if row[0] == subtask] for subtask in range(3)} == {
        subtask: [("x", v) for v in (1, 2, 3, 4, 5)] for subtask in range(3)
    }
    query.add("rows", [(v,) for v in range(3)], files=3)
    assert sorted(row[0] for row in query.run()) == [0, 1, 2]
    assert all(row[2] == {"x": 12345} for row in query.out)


def test_the_order_that_is_asked_for_comes_first(spark: SparkSession, tmp_path: Path) -> None:
    plan = unkeyed(UnkeyedRules(), 2, order_by="at")
    query = FileQuery(spark, tmp_path, plan, rows="v long", rules="rule string, v long, at int")
    query.add("rules", [("x", 1, 3), ("x", 2, 1), ("x", 3, 2)], files=2)
    query.run()
    query.add("rows", [(0,)])
    assert [row[2] for row in query.run()] == [{"x": 231}]


def test_a_state_that_differs_fails_the_batch_and_names_the_partitions(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, unkeyed(Crooked(), 3), rows="v long", rules="rule string, v long")
    query.add("rows", [(0,)])
    query.run()
    query.add("rules", [("x", 1)])
    with pytest.raises(StreamingQueryException) as caught:
        query.run()
    text = str(caught.value)
    assert "SNAPLINE-NOT-DETERMINISTIC" in text
    assert "'rules'" in text
    assert "of Crooked" in text
    assert "partition 2: 1 entries" in text
    # Nothing of the batch was committed: a function that is right goes on from the batch before.
    better = FileQuery(spark, tmp_path, unkeyed(UnkeyedRules(), 3), rows="v long", rules="rule string, v long")
    assert sorted(row[0] for row in better.run()) == [0, 1, 2]
    assert {row[1:] for row in better.out} == {(1, None, "x")}


def test_rules_survive_a_restart_and_another_parallelism(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, keyed, orders="k long, rule string, v long", rules="rule string, v long")
    query.add("rules", [(f"r{i}", i) for i in range(1, 20)])
    query.add("orders", [(k, "r3", 1) for k in range(8)])
    query.run()
    checkpoint = query.checkpoint
    for parallelism in (3, 2):
        savepoint, after = tmp_path / f"savepoint-{parallelism}", tmp_path / f"checkpoint-{parallelism}"
        snapline.create_savepoint(spark, str(checkpoint), str(savepoint))
        snapline.restore_savepoint(spark, str(savepoint), str(after), parallelism=parallelism)
        checkpoint = after
        query.add("orders", [(k, "r7", 1) for k in range(8)])
        out = query.run(checkpoint)
        assert sorted(row[0] for row in out) == list(range(8))
        assert {row[2] for row in out} == {7}
        assert {row[6] for row in out} == {19}
        state = snapline.read_state(str(checkpoint), state="$broadcast_rules", session=spark)
        assert (
            state.groupBy("partition").count().collect()
            == state.groupBy("partition").count().where("count = 19").collect()
        )
        assert state.select("partition").distinct().count() == parallelism


def test_bounded_frames_and_what_is_refused(spark: SparkSession) -> None:
    orders = spark.createDataFrame([(k, "a", 1) for k in range(4)], "k long, rule string, v long")
    rules = spark.createDataFrame([("a", 2)], "rule string, v long")
    assert sorted(row.product for row in keyed(orders, rules).collect()) == [2] * 4
    rows = unkeyed(UnkeyedRules(), 2)(orders.select("v"), rules).collect()
    assert sorted(row.subtask for row in rows if row.rule) == [0, 1]
    with pytest.raises(InvalidConfiguration, match="without state"):
        snapline.broadcast(rules)
    with pytest.raises(InvalidConfiguration, match="is for a broadcast stream, and there is none"):
        snapline.key_by(orders, "k").process(Rules(), KEYED)
    with pytest.raises(InvalidConfiguration, match="no KeyedBroadcastProcessFunction"):
        snapline.key_by(orders, "k").connect(snapline.broadcast(rules, RULES)).process(UnkeyedRules(), UNKEYED)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InvalidConfiguration, match="bounded DataFrame beside"):
        snapline.connect(orders, snapline.broadcast(stream, RULES))
