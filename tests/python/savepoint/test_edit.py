"""State that was looked at, edited, compared, and gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import snapline
import snapline.inspect
from snapline import KeyedProcessFunction, ValueStateDescriptor
from snapline.errors import IncompatibleState
from snapline.savepoint import create_savepoint, diff, read_state, restore_savepoint, write_savepoint

from .queries import StatefulQuery


@pytest.fixture(scope="module")
def work(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``checkpoint`` and ``savepoint`` of a keyed function."""
    path = tmp_path_factory.mktemp("edit")
    query = StatefulQuery(spark, path, "keyed-function")
    query.add_input(range(2))
    query.run("checkpoint")
    create_savepoint(spark, str(path / "checkpoint"), str(path / "savepoint"))
    return path


def test_an_edited_state_is_what_the_query_sees(spark: SparkSession, work: Path, tmp_path: Path) -> None:
    query = StatefulQuery(spark, work, "keyed-function")
    total = read_state(str(work / "savepoint"), state="total", session=spark)
    edited = total.withColumn("value", F.struct((F.col("value.value") + 1_000_000).alias("value")))
    path = str(tmp_path / "edited")
    write_savepoint(str(work / "savepoint"), path, {(0, "total"): edited.where("key.k != 3")}, session=spark)
    changes = {
        row["change"]: row["count"]
        for row in diff(str(work / "savepoint"), path, 0, "total").groupBy("change").count().collect()
    }
    assert changes == {"changed": total.count() - 1, "removed": 1}
    assert diff(str(work / "savepoint"), path, 0, "seen").count() == 0
    restore_savepoint(spark, path, str(work / "edited"), parallelism=3)
    query.add_input(range(2, 3))
    query.run("edited")
    query.run("checkpoint")
    after = {
        row["key"]["k"]: row["value"]["value"]
        for row in read_state(str(work / "checkpoint"), state="total", session=spark).collect()
    }
    got = {
        row["key"]["k"]: row["value"]["value"]
        for row in read_state(str(work / "edited"), state="total", session=spark).collect()
    }
    fresh = got.pop(3)
    assert fresh < after.pop(3)
    assert got == {key: value + 1_000_000 for key, value in after.items()}


def test_lists_and_maps_go_the_same_way(spark: SparkSession, work: Path, tmp_path: Path) -> None:
    states = {(0, name): read_state(str(work / "savepoint"), state=name, session=spark) for name in ("seen", "per")}
    write_savepoint(str(work / "savepoint"), str(tmp_path / "same"), states, session=spark)  # type: ignore[arg-type]
    for name in ("seen", "per", "last", "total"):
        assert diff(str(work / "savepoint"), str(tmp_path / "same"), 0, name, session=spark).count() == 0
        places = [
            read_state(str(path), state=name, session=spark).select("key", "partition", "key_group")
            for path in (work / "savepoint", tmp_path / "same")
        ]
        assert places[0].exceptAll(places[1]).count() == 0


def test_what_does_not_fit_is_refused(spark: SparkSession, work: Path, tmp_path: Path) -> None:
    total = read_state(str(work / "savepoint"), state="total", session=spark)
    wrong = {
        "no column key": total.drop("key"),
        "has the columns": total.withColumn("value", F.struct(F.lit("x").alias("value"))),
        "times": total.unionByName(total.limit(1)),
        "no key or no value": total.withColumn("value", F.when(F.col("key.k") > 3, F.col("value"))),
    }
    seen = read_state(str(work / "savepoint"), state="seen", session=spark)
    wrong_lists = {
        "a list with null in it": seen.withColumn("value", F.concat("value", F.array(F.lit(None)))),
        "a list without elements": seen.withColumn("value", F.filter("value", lambda each: F.lit(False))),
    }
    tables = [(text, table, "total") for text, table in wrong.items()]
    tables += [(text, table, "seen") for text, table in wrong_lists.items()]
    for text, table, state in tables:
        with pytest.raises(IncompatibleState, match=text):
            write_savepoint(str(work / "savepoint"), str(tmp_path / "to"), {(0, state): table}, session=spark)
        assert not (tmp_path / "to").exists()


class Profiles(KeyedProcessFunction):
    """A map of maps for each key: in the second run in another order, and for even keys with another value."""

    def __init__(self, run: int) -> None:
        self._run = run

    def open(self, ctx: Any) -> None:
        kind = "struct<names: map<string, map<string, bigint>>>"
        self.profile = ctx.get_state(ValueStateDescriptor("profile", kind))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        if self._run == 0:
            self.profile.update(({"a": {"x": 1, "y": row.k}, "b": None},))
        else:
            self.profile.update(({"b": None, "a": {"y": row.k, "x": 1 if row.k % 2 else 2}},))
        yield (row.k,)


def test_maps_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    query = StatefulQuery(spark, tmp_path, "aggregation")
    for batch in range(2):
        query.add_input([batch])
        profiles = snapline.key_by(query.plain_rows(), "k").process(Profiles(batch), "k long")
        writer = profiles.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        create_savepoint(spark, str(tmp_path / "checkpoint"), str(tmp_path / f"savepoint-{batch}"))
    changed = diff(str(tmp_path / "savepoint-0"), str(tmp_path / "savepoint-1"), 0, "profile", session=spark).collect()
    assert {row.change for row in changed} == {"changed"}
    assert sorted(row.key.k for row in changed) == list(range(0, 23, 2))


def test_without_a_jvm(spark: SparkSession, work: Path) -> None:
    savepoint = snapline.inspect.open(work / "savepoint")
    assert isinstance(savepoint, snapline.inspect.SavepointFolder)
    savepoint.verify()
    for key in savepoint.states:
        table = savepoint.read(key.operator, key.name)
        by_spark = read_state(str(work / "savepoint"), key.operator, key.name, session=spark)
        assert table.column_names == by_spark.columns
        assert table.num_rows == by_spark.count() == savepoint.metadata.rows[key.folder]
    assert isinstance(snapline.inspect.open(work / "checkpoint"), snapline.inspect.CheckpointFolder)
