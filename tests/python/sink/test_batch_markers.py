from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import snapline
from snapline.errors import InvalidConfiguration

from .queries import forget_commit, give, run, stream

Write = Callable[[DataFrame, int], Any]


def test_a_batch_that_was_written_is_skipped_and_its_state_is_made(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint, written = tmp_path / "checkpoint", []
    once = snapline.once(spark, str(tmp_path / "markers"))

    def write(df: DataFrame, batch: int) -> None:
        written.append((batch, sorted(row.k for row in df.collect())))

    def start() -> None:
        rows = stream(spark, tmp_path / "input").dropDuplicates(["k"])
        run(rows.writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(once(write)))

    give(tmp_path / "input", "0", [(1, 0), (2, 0)])
    start()
    forget_commit(checkpoint, 0)
    start()
    assert written == [(0, [1, 2])]
    give(tmp_path / "input", "1", [(2, 0), (3, 0)])
    start()
    assert written == [(0, [1, 2]), (1, [3])]
    assert [path.name for path in (tmp_path / "markers").rglob("*") if path.name.isdigit()] == ["1"]


def test_a_write_that_fails_comes_again(spark: SparkSession, tmp_path: Path) -> None:
    attempts = []
    once = snapline.once(spark, str(tmp_path / "markers"))

    @once
    def write(df: DataFrame, batch: int) -> None:
        attempts.append(batch)
        assert len(attempts) > 1, "on purpose"

    give(tmp_path / "input", "0", [(1, 0)])
    rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="on purpose"):
        run(rows.foreachBatch(write))
    run(rows.foreachBatch(write))
    assert attempts == [0, 0]


def test_two_functions_of_one_name_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    found: list[tuple[str, int]] = []
    once = snapline.once(spark, str(tmp_path / "markers"))

    def write_main(df: DataFrame, batch: int) -> None:
        found.append(("main", batch))

    def write_side(df: DataFrame, batch: int) -> None:
        found.append(("side", batch))

    def start(main: Write, side: Write) -> None:
        def both(df: DataFrame, batch: int) -> None:
            main(df, batch)
            side(df, batch)

        rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        run(rows.foreachBatch(both))

    give(tmp_path / "input", "0", [(1, 0)])
    # The second start finds the marker that the first one's main function has left.
    for _ in range(2):
        with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*a second time as main.*write_main.*write_side"):
            start(once(write_main), once(write_side))
    assert found == [("main", 0)]
    start(once(write_main), once(write_side, "side"))
    give(tmp_path / "input", "1", [(2, 0)])
    start(once(write_main), once(write_side, "side"))
    assert found == [("main", 0), ("side", 0), ("main", 1), ("side", 1)]


def test_two_outputs_of_one_name_are_refused_before_the_query_starts(spark: SparkSession, tmp_path: Path) -> None:
    once = snapline.once(spark, str(tmp_path / "markers"))
    elsewhere = snapline.once(spark, str(tmp_path / "others"))

    def write(df: DataFrame, batch: int) -> None:
        pass

    for one in (once(lambda df, batch: None), once(write)):
        with pytest.raises(InvalidConfiguration, match=r"two outputs .* as main"):
            snapline.each_output(once(write), {"side": one})
    allowed: list[Write] = [once(write, "side"), elsewhere(write), write]
    for other in allowed:
        snapline.each_output(once(write), {"side": other})


def test_a_function_may_come_again_in_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Wrapped anew for each call, and after the failure of another one under its name."""
    found: list[tuple[str, int]] = []
    once = snapline.once(spark, str(tmp_path / "markers"))

    def write(df: DataFrame, batch: int) -> None:
        found.append(("written", batch))

    def fail(df: DataFrame, batch: int) -> None:
        found.append(("failed", batch))
        raise ValueError

    def each(df: DataFrame, batch: int) -> None:
        with contextlib.suppress(ValueError):
            once(fail)(df, batch)
        for _ in range(2):
            once(write)(df, batch)

    for batch in range(2):
        give(tmp_path / "input", str(batch), [(batch, 0)])
    rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    run(rows.foreachBatch(each))
    assert found == [("failed", 0), ("written", 0), ("failed", 1), ("written", 1)]


def test_a_function_for_two_parts_of_a_batch_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    found: list[list[int]] = []
    once = snapline.once(spark, str(tmp_path / "markers"))

    def write(df: DataFrame, batch: int) -> None:
        found.append(sorted(row.k for row in df.collect()))

    def start(name: Callable[[int], str]) -> None:
        def each(df: DataFrame, batch: int) -> None:
            for k in (1, 2):
                once(write, name(k))(df.where(df.k == k), batch)

        rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        run(rows.foreachBatch(each))

    give(tmp_path / "input", "0", [(1, 0), (2, 0)])
    with pytest.raises(Exception, match=r"SNAPLINE-CONFIG.*a second time as main.*another DataFrame"):
        start(lambda k: "main")
    assert found == [[1]]
    start(lambda k: f"part {k}")
    assert found == [[1], [1], [2]]


def test_a_folder_that_is_older_than_the_markers_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    written: list[int] = []
    once = snapline.once(spark, str(tmp_path / "markers"))

    def start(name: str = "main") -> None:
        rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(checkpoint))
        run(rows.foreachBatch(once(lambda df, batch: written.append(batch), name)))

    for batch in range(2):
        give(tmp_path / "input", str(batch), [(1, batch)])
        start()
    for batch in range(2):
        forget_commit(checkpoint, batch)
    for path in (checkpoint / "offsets").glob("*1*"):
        path.unlink()
    with pytest.raises(Exception, match=r"SNAPLINE-INCOMPATIBLE.*marker of batch 1.*goes on with batch 0"):
        start()
    assert written == [0, 1]
    start("again")
    assert written == [0, 1, 0, 1]


def test_options_for_delta_name_query_and_batch(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    once = snapline.once(spark, str(tmp_path / "markers"))
    give(tmp_path / "input", "0", [(1, 0)])
    rows = stream(spark, tmp_path / "input").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = run(rows.foreachBatch(once(lambda df, batch: found.append(once.delta_options(df, batch)))))
    assert found == [{"txnAppId": f"{query.id}/main", "txnVersion": "0"}]
