"""File merging through the life of a query, on Spark itself: replays, damage, going back, and leaving the interval."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.inspect import CheckpointFolder, Restart, verify

from .real_query import RealQuery, take_all_and_stop

SPELLS = (3, 5, 6, 7)
RARELY = timedelta(hours=1)
MERGING = CheckpointConfig(interval=RARELY, num_retained=5, file_merging=True)
NOT_MERGING = CheckpointConfig(interval=RARELY, num_retained=5)


def run(query: RealQuery, config: CheckpointConfig, restore: int | None = None) -> None:
    writer = query.result().writeStream.format("parquet").option("path", str(query.work / "output"))
    writer = writer.option("checkpointLocation", str(query.checkpoint))
    take_all_and_stop(snapline.start(writer, config, restore=restore))


def spell(query: RealQuery, number: int) -> None:
    """The next input."""
    query.add_input(0 if number == 0 else SPELLS[number - 1], SPELLS[number])


def files(query: RealQuery, ending: str) -> list[Path]:
    return sorted(query.checkpoint.rglob(f"*.{ending}"))


def merged_of(query: RealQuery, number: int) -> Path:
    """The one merged file of a checkpoint, which has all its handles."""
    found = {each.id: each.metadata for each in CheckpointFolder(query.checkpoint).numbered.read()}[number]
    assert found is not None
    assert all(handle.merged is not None for _, _, handle in found.handles())
    (name,) = found.handle_names()
    return query.checkpoint / name


@pytest.fixture(scope="module")
def lived(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> RealQuery:
    """The same input without a coordinator."""
    query = RealQuery(spark, tmp_path_factory.mktemp("lived"))
    for number in range(len(SPELLS)):
        spell(query, number)
        query.go_on()
    return query


def test_from_the_first_checkpoint_to_a_plain_start(spark: SparkSession, tmp_path: Path, lived: RealQuery) -> None:
    query = RealQuery(spark, tmp_path)
    spell(query, 0)
    run(query, MERGING)
    assert files(query, "handle") == []
    assert files(query, "merged") == [merged_of(query, 1)]
    assert query.state(0)
    found = verify(CheckpointFolder(query.checkpoint))
    assert found.findings == ()
    assert found.restart == Restart(checkpoint=1, batch=0, lag=3)

    # Replays: what counts is built on handles in the stores' folders.
    spell(query, 1)
    run(query, MERGING)
    assert len([path for path in files(query, "handle") if path.name.startswith("1_")]) == 2
    assert files(query, "merged") == sorted([merged_of(query, 1), merged_of(query, 2)])
    assert verify(CheckpointFolder(query.checkpoint)).findings == ()

    # Damage is seen before the first batch has done anything.
    hurt = merged_of(query, 2)
    data = bytearray(hurt.read_bytes())
    data[len(data) // 3] ^= 1
    hurt.write_bytes(data)
    (hurt.parent / f".{hurt.name}.crc").unlink(missing_ok=True)
    assert verify(CheckpointFolder(query.checkpoint)).damaged
    spell(query, 2)
    run(query, NOT_MERGING)
    assert (query.checkpoint / "snapline" / "chk-2" / "_metadata.damaged").exists()

    # By hand, and merging again.
    run(query, MERGING, restore=1)
    # From then on every batch is durable, and any Spark goes on.
    run(query, CheckpointConfig())
    spell(query, 3)
    query.go_on()
    assert query.output() == lived.output()
    newest = max(lived.batches("commits"))
    assert max(query.batches("commits")) == newest
    assert query.state(newest) == lived.state(newest)
