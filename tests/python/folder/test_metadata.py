from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from snapline.errors import CheckpointDamaged, StateNotFound, UnsupportedVersion
from snapline.folder.metadata import parse_checkpoint
from snapline.format import Kind
from snapline.query import CheckpointChoice, CheckpointRef, HadoopFiles, LocalFiles, Recovery, read_checkpoint
from snapline.recovery.choice import OutOfReach

from ..format.writer import make_uid, write_frame
from .fakes import Crash, FakeFiles, FakeSpark


def make_meta(number: int, batch: int, spark: FakeSpark) -> dict[str, Any]:
    def handle(partition: int, store: int) -> dict[str, Any]:
        uid = make_uid(1_770_000_000_000 + number * 100 + store * 10 + partition)
        return {
            "partition": partition,
            "version": batch + 1,
            "uid": uid,
            "bytes": 10,
            "handleBytes": 4,
            "sync": 1,
            "async": 2,
            "uploaded": {"files": 1, "bytes": 7},
            "files": [{"uid": uid, "length": 6, "crc32c": 5}],
        }

    return {
        "kind": "checkpoint",
        "checkpoint": number,
        "query": "q",
        "run": "r",
        "batch": batch,
        "properties": "CHECKPOINT_RETAINED_ON_FAILURE",
        "triggered": 1,
        "acknowledged": 2,
        "completed": 3,
        "operators": [
            {
                "id": 0,
                "name": "stateStoreSave",
                "parallelism": 2,
                "stores": [{"name": "default", "partitions": [handle(0, 0), handle(1, 0)]}],
            },
            {
                "id": 1,
                "name": "symmetricHashJoin",
                "parallelism": 1,
                "stores": [{"name": "left-keyToNumValues", "partitions": [handle(0, 1)]}],
            },
        ],
        "offsets": spark.offsets(batch).decode(),
        "commit": spark.commit(batch, 0).decode(),
        "watermark": batch * 1000,
        "maxParallelism": 57_600,
        "writer": "0.1.0",
        "spark": "4.2.0",
        "later": {"more": 1},
    }


def frame(meta: dict[str, Any], number: int = 1) -> bytes:
    return write_frame(Kind.CHECKPOINT, [], json.dumps(meta).encode(), number=number)


def add(files: FakeFiles, spark: FakeSpark, number: int, batch: int, **changes: Any) -> None:
    meta = make_meta(number, batch, spark) | changes
    data = frame(meta)
    files.put(f"snapline/chk-{number}/_metadata", data)
    for name in parse_checkpoint(data, "it").handle_names():
        files.put(name, b"")


@pytest.fixture
def files() -> FakeFiles:
    """Checkpoints 3, 4 and 5 of batches 1, 3 and 4; and one that was never complete."""
    files = FakeFiles()
    spark = FakeSpark(files, 1)
    spark.write_logs(5, 6)
    for number, batch in [(3, 1), (4, 3), (5, 4)]:
        add(files, spark, number, batch)
    files.put("snapline/chk-6/other", b"")
    files.put("snapline/chk-x/_metadata", b"")
    return files


def test_reads_all_members(files: FakeFiles) -> None:
    checkpoint = read_checkpoint(files, 4)
    assert checkpoint.ref == CheckpointRef(4, 3)
    assert checkpoint.properties == "CHECKPOINT_RETAINED_ON_FAILURE"
    assert (checkpoint.triggered, checkpoint.acknowledged, checkpoint.completed) == (1, 2, 3)
    assert (checkpoint.max_parallelism, checkpoint.watermark) == (57_600, 3000)
    assert [operator.parallelism for operator in checkpoint.operators] == [2, 1]
    (handle, _) = checkpoint.operators[0].stores[0].partitions
    assert (handle.bytes, handle.handle_bytes, handle.sync, handle.async_, handle.uploaded_bytes) == (10, 4, 1, 2, 7)
    assert handle.files[0].length == 6
    names = list(checkpoint.handle_names())
    assert [name.rpartition("/")[0] for name in names] == ["state/0/0", "state/0/1", "state/1/0/left-keyToNumValues"]
    assert all(name.rpartition("/")[2].startswith("4_") and name.endswith(".handle") for name in names)


def members() -> list[str]:
    return sorted(make_meta(1, 1, FakeSpark(FakeFiles(), 1)).keys() - {"later"})


@pytest.mark.parametrize("member", members())
@pytest.mark.parametrize("value", [None, [1], -1, True])
def test_a_missing_member_or_one_of_another_type_is_damage(member: str, value: Any) -> None:
    meta = make_meta(1, 1, FakeSpark(FakeFiles(), 1))
    if value is None:
        del meta[member]
    else:
        meta[member] = value
    with pytest.raises(CheckpointDamaged, match="its meta cannot be read"):
        parse_checkpoint(frame(meta), "chk-1/_metadata")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("stores", 0, "name"), "../../x"),
        (("stores", 0, "partitions", 0, "uid"), "../x"),
        (("stores", 0, "partitions", 0, "version"), 1),
        (("stores", 0, "partitions", 0, "partition"), 1),
        (("stores", 0, "partitions", 0, "uploaded"), 3),
        (("stores", 0, "partitions", 0, "files"), [{"uid": "x", "length": 1, "crc32c": 1}]),
        (("parallelism",), 3),
        (("stores",), []),
        (("id",), 1),
    ],
)
def test_what_cannot_be_is_damage(place: tuple[Any, ...], value: Any) -> None:
    meta = make_meta(1, 1, FakeSpark(FakeFiles(), 1))
    item = meta["operators"][0]
    for step in place[:-1]:
        item = item[step]
    item[place[-1]] = value
    with pytest.raises(CheckpointDamaged):
        parse_checkpoint(frame(meta), "chk-1/_metadata")


@given(st.data())
def test_no_changed_byte_passes(data: st.DataObject) -> None:
    whole = frame(make_meta(1, 1, FakeSpark(FakeFiles(), 1)))
    position = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(1, 255))
    broken = whole[:position] + bytes([whole[position] ^ change]) + whole[position + 1 :]
    with pytest.raises(CheckpointDamaged):
        parse_checkpoint(broken, "it")
    with pytest.raises(CheckpointDamaged):
        parse_checkpoint(whole[:position], "it")


def test_a_later_format_is_told() -> None:
    with pytest.raises(UnsupportedVersion):
        parse_checkpoint(frame(make_meta(1, 1, FakeSpark(FakeFiles(), 1)), number=3), "it")


def merged_meta(number: int, batch: int, spark: FakeSpark, merged: object) -> dict[str, Any]:
    """All handles of operator 0 lie in one merged file."""
    meta = make_meta(number, batch, spark)
    for handle in meta["operators"][0]["stores"][0]["partitions"]:
        handle["merged"] = merged
    return meta


def test_handles_in_merged_files() -> None:
    place = {"uid": make_uid(7), "offset": 28}
    meta = merged_meta(4, 3, FakeSpark(FakeFiles(), 1), place)
    checkpoint = parse_checkpoint(frame(meta, number=2), "it")
    assert [handle.merged for _, _, handle in checkpoint.handles()] == [(make_uid(7), 28)] * 2 + [None]
    first, second = checkpoint.handle_names()
    assert first == f"snapline/merged/4_{make_uid(7)}.merged"
    assert second.startswith("state/1/0/left-keyToNumValues/4_")


@pytest.mark.parametrize("merged", [7, {}, {"uid": "../x", "offset": 28}, {"uid": make_uid(7), "offset": -1}])
def test_a_place_that_cannot_be_is_damage(merged: object) -> None:
    with pytest.raises(CheckpointDamaged, match="its meta cannot be read"):
        parse_checkpoint(frame(merged_meta(1, 1, FakeSpark(FakeFiles(), 1), merged), number=2), "it")


def test_a_checkpoint_whose_merged_file_is_gone_is_not_taken(files: FakeFiles) -> None:
    spark = FakeSpark(files, 1)
    merged = f"snapline/merged/5_{make_uid(7)}.merged"
    data = frame(merged_meta(5, 4, spark, {"uid": make_uid(7), "offset": 28}), number=2)
    files.files["snapline/chk-5/_metadata"] = data
    files.put(merged, b"")
    newest = CheckpointChoice(files).newest()
    assert newest is not None
    assert newest.id == 5
    del files.files[merged]
    newest = CheckpointChoice(files).newest()
    assert newest is not None
    assert newest.id == 4


def test_takes_the_newest(files: FakeFiles) -> None:
    choice = CheckpointChoice(files)
    assert choice.numbers() == [3, 4, 5]
    newest = choice.newest()
    assert newest is not None
    assert newest.id == 5
    assert choice.by_number(3).id == 3


def test_one_whose_log_entries_need_not_be_kept_is_out_of_reach(files: FakeFiles) -> None:
    choice = CheckpointChoice(files)
    oldest = choice.by_number(3).batch
    for log in ("offsets", "commits"):
        for batch in range(oldest + 1):
            files.files.pop(f"{log}/{batch}", None)
    with pytest.raises(OutOfReach, match="begin with batch"):
        choice.by_number(3)
    for number in (4, 5):
        del files.files[f"snapline/chk-{number}/_metadata"]
    assert choice.newest() is None
    assert choice.numbers() == [3]
    files.put("snapline/interval", b"-1")
    with pytest.raises(CheckpointDamaged, match="is missing"):
        choice.by_number(3)


def test_sets_damaged_ones_aside(files: FakeFiles, caplog: pytest.LogCaptureFixture) -> None:
    files.files["snapline/chk-5/_metadata"] = files.files["snapline/chk-5/_metadata"][:-1]
    del files.files[next(name for name in files.files if name.startswith("state/1/0") and "/4_" in name)]
    newest = CheckpointChoice(files).newest()
    assert newest is not None
    assert newest.id == 3
    assert [record.getMessage().split(" is set aside")[0] for record in caplog.records] == [
        "Checkpoint 5 in memory:/checkpoint",
        "Checkpoint 4 in memory:/checkpoint",
    ]
    assert CheckpointChoice(files).numbers() == [3]
    assert "snapline/chk-4/_metadata.damaged" in files.files


def test_without_a_sound_one_there_is_none(files: FakeFiles) -> None:
    for number in (3, 4, 5):
        files.files[f"snapline/chk-{number}/_metadata"] = b""
    assert CheckpointChoice(files).newest() is None


def test_prefers_checkpoints_to_savepoints_where_told(files: FakeFiles) -> None:
    spark = FakeSpark(files, 1)
    add(files, spark, 5, 4, properties="SAVEPOINT")
    choice = CheckpointChoice(files)
    assert [getattr(choice.newest(-1, prefer), "id", None) for prefer in (False, True)] == [5, 4]
    for number, batch in [(3, 1), (4, 3)]:
        add(files, spark, number, batch, properties="SYNC_SAVEPOINT")
    newest = choice.newest(-1, prefer_checkpoint=True)
    assert newest is not None
    assert newest.id == 5, "there is nothing else"
    files.files["snapline/chk-4/_metadata"] = b""
    add(files, spark, 3, 1)
    assert [getattr(choice.newest(oldest, True), "id", None) for oldest in (-1, 2)] == [3, 5]


def test_a_savepoint_whose_log_entries_are_gone_is_left_alone(files: FakeFiles) -> None:
    add(files, FakeSpark(files, 1), 5, 4, properties="SAVEPOINT")
    before = files.files["snapline/chk-5/_metadata"]
    del files.files["offsets/4"]
    newest = CheckpointChoice(files).newest()
    assert newest is not None
    assert newest.id == 4
    assert files.files["snapline/chk-5/_metadata"] == before


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_logs_that_were_written_anew_are_damage(files: FakeFiles, log: str) -> None:
    files.files[f"{log}/4"] = files.files[f"{log}/3"]
    with pytest.raises(CheckpointDamaged, match=f"{log}/4 is not the entry it was taken with"):
        CheckpointChoice(files).by_number(5)


def test_one_asked_for_is_not_set_aside(files: FakeFiles) -> None:
    files.files["snapline/chk-4/_metadata"] = b""
    with pytest.raises(CheckpointDamaged):
        CheckpointChoice(files).by_number(4)
    assert CheckpointChoice(files).numbers() == [3, 4, 5]


def test_one_that_is_not_there_is_told_with_those_that_are(files: FakeFiles) -> None:
    with pytest.raises(StateNotFound, match="there is 3, 4, 5"):
        CheckpointChoice(files).by_number(6)


def test_a_recovery_under_way_hides_no_checkpoint(files: FakeFiles) -> None:
    def die(batch: int) -> None:
        raise Crash

    with pytest.raises(Crash):
        Recovery(files).run(CheckpointRef(3, 1), die)
    newest = CheckpointChoice(files).newest()
    assert newest is not None
    assert newest.id == 5


def test_one_that_lies_in_anothers_folder_is_damage(files: FakeFiles) -> None:
    files.files["snapline/chk-5/_metadata"] = files.files["snapline/chk-4/_metadata"]
    with pytest.raises(CheckpointDamaged, match="that of checkpoint 4"):
        CheckpointChoice(files).by_number(5)


def test_through_hadoop(spark: SparkSession, files: FakeFiles, tmp_path: Path) -> None:
    for name, data in files.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "snapline/chk-5/_metadata").write_bytes(b"")
    newest = CheckpointChoice(HadoopFiles(spark, str(tmp_path))).newest()
    assert newest is not None
    assert newest.id == 4
    assert CheckpointChoice(LocalFiles(tmp_path)).numbers() == [3, 4]
