"""Where the checkpoint folder is, what a checkpoint's files are, and which checkpoints stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import snapline
from snapline import CheckpointConfig
from snapline.errors import InvalidConfiguration, StateNotFound
from snapline.inspect import CheckpointFolder, verify
from snapline.query.starting import find_location

from .conftest import Ticking
from .real_query import RealQuery, wait_for
from .test_start import FIRST, INTERVAL, KEPT, RARELY, SECOND, numbers, run


@pytest.mark.parametrize(
    ("options", "directory", "default", "wanted"),
    [
        ({"checkpointlocation": "a"}, None, None, "a"),
        ({"checkpointlocation": "a", "queryname": "q"}, None, "c", "a"),
        ({"queryname": "q"}, "b/", None, "b/q"),
        ({"queryname": "q"}, "b", "c", "b/q"),
        ({"queryname": "q"}, None, "s3a://c/", "s3a://c/q"),
    ],
)
def test_the_checkpoint_folder(
    options: Mapping[str, str], directory: str | None, default: str | None, wanted: str
) -> None:
    assert find_location(options, directory, default) == wanted


@pytest.mark.parametrize(
    ("options", "directory", "message"),
    [
        ({}, None, "no checkpointLocation"),
        ({"queryname": "q"}, None, "no checkpointLocation"),
        ({"checkpointlocation": "a"}, "b", "the checkpointLocation a, and the checkpoint directory is set to b"),
        ({}, "b", "no name to find it by again"),
        ({"queryname": ".."}, "b", "no name of a folder"),
        ({"queryname": "a/b"}, "b", "no name of a folder"),
    ],
)
def test_no_checkpoint_folder(options: Mapping[str, str], directory: str | None, message: str) -> None:
    with pytest.raises(InvalidConfiguration, match=message):
        find_location(options, directory, None)


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path) -> RealQuery:
    query = RealQuery(spark, tmp_path)
    query.add_input(0, FIRST)
    return query


def test_a_query_in_a_directory_is_found_again_by_its_name(query: RealQuery) -> None:
    config = replace(INTERVAL, directory=query.work / "checkpoints")
    query.checkpoint = query.work / "checkpoints" / "windows"

    def run_named() -> snapline.SupervisedQuery:
        writer = query.result().writeStream.format("noop").queryName("windows").trigger(availableNow=True)
        running = snapline.start(writer, config)
        running.awaitTermination()
        return running

    run_named()
    # The second is of its end.
    assert numbers(query) == [2]
    query.add_input(FIRST, SECOND)
    assert run_named().checkpoints()["latest"]["restored"]["id"] == 2


def tables(query: RealQuery) -> int:
    return len([*(query.checkpoint / "state").rglob("*.sst")])


def uploads(query: RealQuery) -> list[tuple[int, int]]:
    """Of the newest checkpoint's stores: table files, and those that it wrote itself."""
    metadata = CheckpointFolder(query.checkpoint).numbered.read()[-1].metadata
    assert metadata is not None
    return [(len(handle.files), handle.uploaded_files) for _, _, handle in metadata.handles()]


@pytest.mark.parametrize("incremental", [True, False])
def test_short_table_files_are_in_the_handle_unless_told_otherwise(query: RealQuery, incremental: bool) -> None:
    config = CheckpointConfig(interval=RARELY, incremental=incremental)
    run(query, config)
    assert (numbers(query), tables(query)) == ([1], 0)
    query.add_input(FIRST, SECOND)
    apart = replace(config, data_inline_threshold=0)
    run(query, apart)
    assert tables(query) > 0
    query.add_input(SECOND, SECOND + 1)
    run(query, apart)
    assert verify(CheckpointFolder(query.checkpoint)).findings == ()
    # RocksDB may have compacted all of it just then, and an incremental one names nothing old either.
    assert incremental or all(uploaded == files for files, uploaded in uploads(query))


def test_a_checkpoint_somebody_keeps_stays_until_it_is_disposed_of(ticking: Ticking, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint" / "snapline"

    def there() -> set[str]:
        return {path.parent.name for path in folder.glob("chk-*/_metadata")}

    running = ticking(INTERVAL)
    kept = running.trigger_checkpoint(savepoint=True)
    assert running.checkpoints()["latest"]["savepoint"]["id"] == kept
    # One is retained beside it.
    newest = [running.trigger_checkpoint() for _ in range(2)][-1]
    wait_for(lambda: there() == {f"chk-{kept}", f"chk-{newest}"})
    running.cancel()
    assert f"chk-{kept}" in there()

    again = ticking(INTERVAL)
    with pytest.raises(StateNotFound, match="no complete checkpoint 99 "):
        again.dispose_checkpoint(99)
    with pytest.raises(StateNotFound):
        again.dispose_checkpoint(max(int(name[4:]) for name in there()))
    again.dispose_checkpoint(kept)
    wait_for(lambda: f"chk-{kept}" not in there())
    again.stop()
    assert verify(CheckpointFolder(tmp_path / "checkpoint")).findings == ()


@pytest.mark.parametrize("prefer", [True, False])
def test_recovery_takes_a_kept_one_unless_told_otherwise(ticking: Ticking, prefer: bool) -> None:
    running = ticking(KEPT)
    kept = running.trigger_checkpoint(savepoint=True)
    running.stop()
    again = ticking(replace(KEPT, prefer_checkpoint_for_recovery=prefer))
    assert again.checkpoints()["latest"]["restored"]["id"] == (1 if prefer else kept)
    # Being newer than the one that was taken did not cost it its life.
    assert again.trigger_checkpoint() > kept
    again.dispose_checkpoint(kept)


def test_a_lost_mark_of_the_interval_is_made_up_for_by_naming_a_checkpoint(query: RealQuery) -> None:
    run(query, KEPT)
    query.add_input(FIRST, SECOND)
    run(query, KEPT)
    mark = query.checkpoint / "snapline" / "interval"
    mark.unlink()
    (mark.parent / ".interval.crc").unlink(missing_ok=True)
    query.add_input(SECOND, SECOND + 1)
    with pytest.raises(StreamingQueryException, match="version 7 does not exist"):
        run(query, KEPT)
    before = query.output()
    history = run(query, KEPT, restore=2).checkpoints()
    assert history["latest"]["restored"]["id"] == 2
    assert mark.exists()
    assert len(query.output()) > len(before)
