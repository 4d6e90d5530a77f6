"""Queries that have other operators than the savepoint they begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import snapline
from snapline import CheckpointedFunction, KeyedProcessFunction, ListStateDescriptor, ValueStateDescriptor
from snapline.errors import IncompatibleState, InvalidConfiguration
from snapline.query import LocalFiles
from snapline.savepoint import create_savepoint, read_savepoint, read_state, restore_savepoint

from .queries import StatefulQuery

Plan = Callable[[DataFrame], DataFrame]


class Counter(KeyedProcessFunction):
    """Rows of each key, in a state of this name."""

    def __init__(self, state: str) -> None:
        self._state = state

    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(ValueStateDescriptor(self._state, "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.n.update((self.n.value() or 0) + 1)
        yield row.k, row.v, self.n.value()


def counted(rows: DataFrame, uid: str | None, state: str = "n", key: str = "k") -> DataFrame:
    return snapline.key_by(rows, key).process(Counter(state), "k long, v long, n long", uid=uid)


def totals(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").agg(F.count("*").alias("c"))


class Changing:
    """A query whose plan changes, over the input of a StatefulQuery."""

    def __init__(self, session: SparkSession, work: Path) -> None:
        self.query = StatefulQuery(session, work, "aggregation")
        self.query.add_input(range(2))
        self.session, self.work = session, work

    def writer(self, checkpoint: str, plan: Plan) -> Any:
        rows = self.query.plain_rows().select("k", "v")
        writer = plan(rows).writeStream.outputMode("update").format("noop").trigger(availableNow=True)
        return writer.option("checkpointLocation", str(self.work / checkpoint))

    def take(self, plan: Plan, format: str = "canonical") -> str:
        """A savepoint of what the plan made of two batches."""
        self.writer("old", plan).start().awaitTermination()
        create_savepoint(self.session, str(self.work / "old"), self.savepoint, format=format)
        return self.savepoint

    @property
    def savepoint(self) -> str:
        return str(self.work / "savepoint")

    def go_on(self, plan: Plan, **options: Any) -> str:
        """With a third batch; the new checkpoint folder."""
        self.query.add_input(range(2, 3))
        running = snapline.start(self.writer("new", plan), from_savepoint=self.savepoint, **options)
        running.awaitTermination()
        return str(self.work / "new")

    def refused(self, plan: Plan, text: str, kind: type[Exception] = IncompatibleState, **options: Any) -> None:
        with pytest.raises(kind, match=text):
            snapline.start(self.writer("new", plan), from_savepoint=self.savepoint, **options)
        assert not (self.work / "new").exists()

    def sum_of(self, path: str, operator: int | str, column: str, state: str | None = None) -> int:
        table = read_state(path, operator, state, session=self.session)
        return int(table.agg(F.sum(f"value.{column}")).head()[0] or 0)  # type: ignore[index]


@pytest.fixture
def changing(spark: SparkSession, tmp_path: Path) -> Changing:
    return Changing(spark, tmp_path)


@pytest.mark.parametrize("format", ["canonical", "native"])
def test_an_operator_is_found_by_its_uid(changing: Changing, format: str) -> None:
    """Two alike change places in the plan."""
    changing.take(lambda rows: counted(counted(rows, "first").where("v % 2 = 0"), "second"), format)
    named = {each.uid: each.id for each in read_savepoint(LocalFiles(changing.savepoint)).operators}
    assert named == {"first": 1, "second": 0}
    before = {uid: changing.sum_of(str(changing.work / "old"), uid, "value") for uid in ("first", "second")}
    assert before["first"] == 120 > before["second"]
    new = changing.go_on(lambda rows: counted(counted(rows, "second"), "first"))
    assert changing.sum_of(new, "first", "value") == 180
    assert changing.sum_of(new, "second", "value") == before["second"] + 60


class Numbered(KeyedProcessFunction, CheckpointedFunction):
    """Rows of each key, and rows of all of them in a state of the operator."""

    def initialize_state(self, ctx: Any) -> None:
        self.all = ctx.get_operator_state_store().get_list_state(ListStateDescriptor("all", "long"))
        self.seen = sum(self.all.get())

    def snapshot_state(self, ctx: Any) -> None:
        self.all.update([self.seen])

    def open(self, ctx: Any) -> None:
        self.n = ctx.get_state(ValueStateDescriptor("n", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.seen += 1
        self.n.update((self.n.value() or 0) + 1)
        yield row.k, row.v, self.n.value()


@pytest.mark.parametrize("format", ["canonical", "native"])
@pytest.mark.parametrize("parallelism", [None, 3])
def test_a_function_leaves_its_number_to_a_new_one(changing: Changing, format: str, parallelism: int | None) -> None:
    """Each keeps its own operator state."""

    def numbered(rows: DataFrame, uid: str) -> DataFrame:
        return snapline.key_by(rows, "k").process(Numbered(), "k long, v long, n long", uid=uid)

    changing.take(lambda rows: numbered(rows, "old"), format)
    new = changing.go_on(lambda rows: numbered(numbered(rows, "old"), "new"), parallelism=parallelism)
    assert {uid: changing.sum_of(new, uid, "value", "n") for uid in ("old", "new")} == {"old": 180, "new": 60}
    assert {uid: changing.sum_of(new, uid, "value", "$operator_all") for uid in ("old", "new")} == {
        "old": 180,
        "new": 60,
    }


@pytest.mark.parametrize("format", ["canonical", "native"])
def test_a_savepoint_goes_to_a_longer_plan(changing: Changing, format: str) -> None:
    changing.take(lambda rows: counted(rows, "first"), format)
    new = changing.go_on(lambda rows: totals(counted(rows, "first")))
    assert changing.sum_of(new, "first", "value") == 180


def test_an_operator_comes_before_the_others(changing: Changing) -> None:
    """Spark numbers operators from the sink on: a new one at the end of the query shifts all."""
    changing.take(totals)
    new = changing.go_on(lambda rows: totals(rows.dropDuplicates(["k", "v"])), parallelism=3)
    assert changing.sum_of(new, 0, "count") > 120
    # The new operator has only seen the rows since.
    assert 0 < read_state(new, 1, session=changing.session).count() <= 60


def test_a_new_operator_behind_takes_the_number_of_the_old_one(changing: Changing) -> None:
    changing.take(lambda rows: rows.dropDuplicates(["k", "v"]))
    before = read_state(changing.savepoint, session=changing.session).count()
    new = changing.go_on(lambda rows: counted(rows.dropDuplicates(["k", "v"]), "after"))
    after = read_state(new, 1, session=changing.session).count()
    assert changing.sum_of(new, "after", "value") == after - before > 0


def test_state_is_left_out_only_if_that_is_allowed(changing: Changing) -> None:
    changing.take(lambda rows: totals(rows.dropDuplicates(["k", "v"])))
    changing.refused(totals, r"no operator of the query has the state of operator 1 \(dedupe\)")
    new = changing.go_on(totals, allow_non_restored_state=True)
    assert changing.sum_of(new, 0, "count") > 60


def test_operators_that_are_alike_have_to_be_mapped(changing: Changing) -> None:
    changing.take(lambda rows: counted(rows, None))

    def two(rows: DataFrame) -> DataFrame:
        return counted(counted(rows, None), None)

    changing.refused(two, "operator 0 .* of the savepoint and operator 0 .*, operator 1 .* of the query are alike")
    changing.refused(two, "is none of the query", InvalidConfiguration, operators={0: 7})
    new = changing.go_on(two, operators={0: 1})
    assert changing.sum_of(new, 1, "value") == 180
    assert changing.sum_of(new, 0, "value") == 60


def test_a_function_that_has_changed_is_known_by_what_it_kept(changing: Changing) -> None:
    changing.take(lambda rows: counted(rows, None))
    changing.refused(lambda rows: counted(rows, None, "other"), "no operator of the query has the state")


def test_a_name_may_be_given_later_and_not_changed(changing: Changing) -> None:
    changing.take(lambda rows: counted(rows, None))
    new = changing.go_on(lambda rows: counted(rows, "named"))
    assert changing.sum_of(new, "named", "value") == 180
    changing.query.add_input(range(3, 4))
    with pytest.raises(Exception, match=r"SNAPLINE-INCOMPATIBLE.*uid 'renamed'.*that of 'named'"):
        changing.writer("new", lambda rows: counted(rows, "renamed")).start().awaitTermination()
    changing.writer("new", lambda rows: counted(rows, "named")).start().awaitTermination()
    assert changing.sum_of(new, "named", "value") == 240


def test_a_uid_belongs_to_one_operator(changing: Changing) -> None:
    rows = changing.query.plain_rows().select("k", "v")
    with pytest.raises(Exception, match="Two operators of the plan have the uid 'same'"):
        counted(counted(rows, "same"), "same")
    for uid in ("", " ", "7", 7):
        with pytest.raises(InvalidConfiguration, match="uid is"):
            counted(rows, uid)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["transform-with-state", "join", "pandas-with-state", "sessions", "limit"])
def test_sparks_operators_are_planned_as_they_are(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """What was written of the plan before is what is found in the plan now."""
    query = StatefulQuery(spark, tmp_path, name)
    query.add_input(range(1))
    query.run("old")
    create_savepoint(spark, str(tmp_path / "old"), str(tmp_path / "savepoint"))
    query.add_input(range(1, 2))
    query.run("old")
    writer = query.writer("new").trigger(availableNow=True)
    snapline.start(writer, from_savepoint=str(tmp_path / "savepoint"), parallelism=3).awaitTermination()
    assert query.state("new") == query.state("old")


def test_by_hand(changing: Changing) -> None:
    """Without the query: by numbers."""
    changing.take(lambda rows: totals(rows.dropDuplicates(["k", "v"])))

    def restore(**options: Any) -> None:
        restore_savepoint(changing.session, changing.savepoint, str(changing.work / "new"), **options)

    for options, kind, text in (
        ({"operators": {1: None}}, IncompatibleState, "no operator of the query has the state of operator 1"),
        ({"operators": {1: 0}}, IncompatibleState, "several operators come to number 0"),
        ({"operators": {1: 2}}, IncompatibleState, "nothing comes to number 1"),
        ({"operators": {5: 0}}, InvalidConfiguration, "operator 5 is none of the savepoint"),
        ({"operators": {1: "named"}}, InvalidConfiguration, "the query is not known here"),
    ):
        with pytest.raises(kind, match=text):
            restore(**options)
        assert not (changing.work / "new").exists()
    restore(operators={1: None}, allow_non_restored_state=True)
    changing.writer("new", totals).start().awaitTermination()
    assert changing.sum_of(str(changing.work / "new"), 0, "count") > 60
