"""Operator state over a savepoint, at another parallelism and back."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession

import snapline

from ..process import functions
from .functions import SPLITS, CountingSource, EveryKind
from .runs import FileQuery

cloudpickle.register_pickle_by_value(functions)

KINDS = "subtask int, v long, split array<long>, union array<long>, raw array<long>, same long"


def deal(lists: list[list[Any]], to: int, start: int = 0) -> list[list[Any]]:
    """Flink's algorithm as it is written there, in a loop."""
    elements = [element for each in lists for element in each]
    share, surplus = divmod(len(elements), to)
    dealt: list[list[Any]] = [[] for _ in range(to)]
    at = 0
    for turn in range(to):
        take = share + (1 if turn < surplus else 0)
        dealt[(start + turn) % to] = elements[at : at + take]
        at += take
    return dealt


def every_kind(rows: Any) -> Any:
    return snapline.process(rows, EveryKind(), KINDS)


def seen(query: FileQuery, checkpoint: Path, parts: int) -> dict[int, tuple[Any, ...]]:
    """What each partition starts with: a row of -1 changes nothing."""
    query.add("rows", [(-i,) for i in range(1, parts + 1)], files=parts)
    return {row[0]: row[2:] for row in query.run(checkpoint)}


def test_every_kind_from_two_partitions_to_three_and_back(spark: SparkSession, tmp_path: Path) -> None:
    query = FileQuery(spark, tmp_path, every_kind, rows="v long")
    query.add("rows", [(v,) for v in range(7)], files=2)
    query.run()
    two = seen(query, query.checkpoint, 2)
    lists = [two[p][0] for p in range(2)]
    assert sorted(v for each in lists for v in each) == list(range(7))
    assert all(lists)
    assert [two[p][1:3] for p in range(2)] == [(each, each) for each in lists]

    def moved(before: Path, name: str, parallelism: int) -> Path:
        savepoint, checkpoint = tmp_path / f"savepoint-{name}", tmp_path / f"checkpoint-{name}"
        snapline.create_savepoint(spark, str(before), str(savepoint))
        snapline.restore_savepoint(spark, str(savepoint), str(checkpoint), parallelism=parallelism)
        return checkpoint

    at_three = moved(query.checkpoint, "three", 3)
    three = seen(query, at_three, 3)
    union = [v for each in lists for v in each]
    dealt = deal(lists, 3)
    # Seven elements over three: the split state leaves off at partition 1, where the raw state begins.
    raw = deal(lists, 3, start=1)
    assert three == {p: (dealt[p], union, raw[p], 1) for p in range(3)}

    at_two = moved(at_three, "two", 2)
    again = seen(query, at_two, 2)
    back, back_raw = deal(dealt, 2), deal(raw, 2, start=1)
    assert again == {p: (back[p], union * 3, back_raw[p], 1) for p in range(2)}

    same = seen(query, moved(at_two, "same", 2), 2)
    assert same == {p: (back[p], union * 6, back_raw[p], 1) for p in range(2)}


def test_a_source_goes_on_at_another_parallelism(spark: SparkSession, tmp_path: Path) -> None:
    def counting(parallelism: int) -> Any:
        return lambda ticks: snapline.process(
            ticks, CountingSource(), "subtask int, split int, number long", parallelism=parallelism
        )

    rows: list[Any] = []
    checkpoint = tmp_path / "checkpoint"
    for step, parallelism in enumerate((2, 3, 2)):
        if step:
            savepoint, after = tmp_path / f"savepoint-{step}", tmp_path / f"checkpoint-{step}"
            snapline.create_savepoint(spark, str(checkpoint), str(savepoint))
            snapline.restore_savepoint(spark, str(savepoint), str(after), parallelism=parallelism)
            checkpoint = after
        query = FileQuery(spark, tmp_path, counting(parallelism), ticks="v long")
        query.add("ticks", [(v,) for v in range(parallelism)], files=parallelism)
        rows += query.run(checkpoint)
    found = defaultdict(list)
    for _, split, number in rows:
        found[split].append(number)
    assert {split: sorted(each) for split, each in found.items()} == {split: [0, 1, 2] for split in range(SPLITS)}
