"""States that a later version of a function leaves out: they stay its query's, and go along with the others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import snapline
from snapline import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from snapline.errors import IncompatibleState
from snapline.savepoint import create_savepoint, rescale_checkpoint, restore_savepoint
from snapline.savepoint.state import find_state
from snapline.spark_line import has_empty_stores

from .queries import StatefulQuery
from .test_import import PROVIDER, ROCKSDB

RESULT = "k long, kept long, number long, seen long, per long"
LEFT_OUT = ("number", "seen", "per")
WAYS = ("canonical", "native", "rescale")


class Kept(KeyedProcessFunction):
    """The version with one state."""

    def open(self, ctx: Any) -> None:
        self.kept = ctx.get_state(ValueStateDescriptor("kept", "long"))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.kept.update((self.kept.value() or 0) + row.v)
        yield row.k, self.kept.value(), None, None, None


class All(KeyedProcessFunction):
    """The version with more, one of each kind."""

    def __init__(self, number: str = "long") -> None:
        self._number = number

    def open(self, ctx: Any) -> None:
        ttl = StateTtlConfig(timedelta(days=1))
        self.kept = ctx.get_state(ValueStateDescriptor("kept", "long"))
        self.number = ctx.get_state(ValueStateDescriptor("number", self._number))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", "long"))
        self.per = ctx.get_map_state(MapStateDescriptor("per", "string", "long", ttl=ttl))

    def process_element(self, row: Any, ctx: Any) -> Iterator[tuple[Any, ...]]:
        self.kept.update((self.kept.value() or 0) + row.v)
        self.number.update((self.number.value() or 0) + 1)
        self.seen.add(row.v)
        bucket = f"b{row.v % 3}"
        self.per[bucket] = self.per.get(bucket, 0) + 1
        yield row.k, self.kept.value(), self.number.value(), sum(self.seen.get()), sum(self.per.values())


class Deleting(Kept):
    """The version that wants to be rid of them."""

    def open(self, ctx: Any) -> None:
        super().open(ctx)
        for name in LEFT_OUT:
            ctx.delete_if_exists(name)


class Versions:
    """A query whose function changes, in any number of checkpoint folders over one input."""

    def __init__(self, session: SparkSession, work: Path) -> None:
        self.session, self.work = session, work
        self.query = StatefulQuery(session, work, "aggregation")
        self._batches = 0

    def add_input(self) -> None:
        """Two rows of each of the keys, or three."""
        self.query.add_input([self._batches])
        self._batches += 1

    def run(self, checkpoint: str, function: KeyedProcessFunction) -> list[tuple[Any, ...]]:
        """What the function puts out for the rows since."""
        found: list[tuple[Any, ...]] = []

        def keep(batch: DataFrame, number: int) -> None:
            found.extend(map(tuple, batch.collect()))

        rows = self.query.plain_rows().select("k", "v")
        result = snapline.key_by(rows, "k").order_by("v").process(function, RESULT)
        writer = result.writeStream.outputMode("update").foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(self.work / checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
        return sorted(found, key=repr)

    def carry(self, way: str, source: str, target: str) -> None:
        """To another parallelism."""
        old, savepoint, new = (str(self.work / name) for name in (source, f"{target}-savepoint", target))
        if way == "rescale":
            rescale_checkpoint(self.session, old, new, parallelism=3)
        else:
            create_savepoint(self.session, old, savepoint, format=way)
            restore_savepoint(self.session, savepoint, new, parallelism=3)

    def states(self, checkpoint: str) -> set[str]:
        """Names of all that a savepoint of it would have."""
        found = find_state(self.session, str(self.work / checkpoint))
        return {key.name for operator in found.operators for key in operator.states}


@pytest.fixture
def versions(spark: SparkSession, tmp_path: Path) -> Versions:
    return Versions(spark, tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_a_later_version_takes_them_back(versions: Versions, way: str) -> None:
    """As over a plain restart."""
    for function in (All(), Kept()):
        versions.add_input()
        versions.run("plain", function)
    assert versions.states("plain") >= {*LEFT_OUT, "kept", "$ttl_per"}
    versions.carry(way, "plain", "carried")
    assert versions.query.state("carried") == versions.query.state("plain")
    for function in (Kept(), All()):
        versions.add_input()
        found = versions.run("plain", function)
        assert found
        assert versions.run("carried", function) == found
    # Two rows at least of the first batch, and one of the last.
    assert all(number >= 3 and per >= 3 for _, _, number, _, per in found)


@pytest.mark.parametrize("way", WAYS)
def test_the_schema_of_one_had_changed(versions: Versions, way: str) -> None:
    """The notes on schemas go along, though no state that is left has another than it began with."""
    for function in (All("int"), All("long"), Kept()):
        versions.add_input()
        versions.run("plain", function)
    versions.carry(way, "plain", "carried")
    versions.add_input()
    found = versions.run("plain", All("long"))
    assert versions.run("carried", All("long")) == found
    assert all(number >= 5 for _, _, number, _, _ in found)


@pytest.mark.parametrize("way", WAYS)
def test_one_that_was_deleted_is_gone(versions: Versions, way: str) -> None:
    for function in (All("int"), All("long"), Deleting(), Kept()):
        versions.add_input()
        versions.run("plain", function)
    assert not versions.states("plain") & {*LEFT_OUT, "$ttl_per"}
    versions.carry(way, "plain", "carried")
    versions.add_input()
    found = versions.run("plain", All("long"))
    assert versions.run("carried", All("long")) == found
    assert min(number for _, _, number, _, _ in found) == 1


class Sums(StatefulProcessor):
    """The like on Spark's transformWithState."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total = handle.getValueState("total", "total long")
        self.seen = handle.getListState("seen", "v long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        values = [row["v"] for row in rows]
        self._see(values)
        known = self.total.get()
        total = (known[0] if known else 0) + sum(values)
        self.total.update((total,))
        yield Row(k=key[0], total=total)

    def _see(self, values: list[int]) -> None:
        self.seen.appendList([(v,) for v in values])

    def close(self) -> None:
        pass


class Fewer(Sums):
    """The version without the list."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total = handle.getValueState("total", "total long")

    def _see(self, values: list[int]) -> None:
        pass


class FewerFromNowOn(Fewer):
    """The version that deletes it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        super().init(handle)
        handle.deleteIfExists("seen")


@pytest.mark.skipif(not has_empty_stores(), reason="Spark's own stores name their states from 4.2 on")
def test_a_store_of_sparks_does_not_say_what_is_a_list(spark: SparkSession, tmp_path: Path) -> None:
    """So that such a state is refused until the processor says what becomes of it."""
    query = StatefulQuery(spark, tmp_path, "aggregation")

    def run(batch: int, processor: StatefulProcessor) -> None:
        query.add_input([batch])
        rows = query.plain_rows().select("k", "v").groupBy("k")
        result = rows.transformWithState(processor, "k long, total long", "Update", "None")
        writer = result.writeStream.outputMode("update").format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "theirs")).start().awaitTermination()

    ours = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    try:
        run(0, Sums())
        run(1, Fewer())
        with pytest.raises(IncompatibleState, match=r"state seen of .* has entries.*deleteIfExists"):
            create_savepoint(spark, str(tmp_path / "theirs"), str(tmp_path / "refused"))
        assert not (tmp_path / "refused").exists()
        run(2, FewerFromNowOn())
        metadata = create_savepoint(spark, str(tmp_path / "theirs"), str(tmp_path / "savepoint"))
    finally:
        spark.conf.set(PROVIDER, str(ours))
    names = {key.name for operator in metadata.operators for key in operator.states}
    assert "total" in names
    assert "seen" not in names
