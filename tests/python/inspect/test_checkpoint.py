from __future__ import annotations

import json
from pathlib import Path

import pytest

from snapline.errors import InvalidConfiguration, NotACheckpoint
from snapline.format import Kind
from snapline.inspect import CheckpointFolder, StoreKey, summarize

from ..format.writer import RUN
from .builder import CheckpointBuilder, put


def test_finds_operators_and_their_stores(sample: CheckpointBuilder) -> None:
    checkpoint = CheckpointFolder(sample.root)
    assert checkpoint.query_id == RUN
    assert [(operator.id, operator.name) for operator in checkpoint.operators] == [
        (0, "stateStoreSave"),
        (1, "symmetricHashJoin"),
    ]
    assert [store.key for store in checkpoint.operators[1].stores] == [
        StoreKey(1, partition, name) for partition in (0, 1) for name in ("left", "right")
    ]
    assert checkpoint.newest == checkpoint.newest_loadable() == 6
    assert checkpoint.problems == []


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_takes_paths_and_uris(sample: CheckpointBuilder, prefix: str) -> None:
    assert CheckpointFolder(f"{prefix}{sample.root}").newest_loadable() == 6


def test_numbers(sample: CheckpointBuilder) -> None:
    count, join = summarize(CheckpointFolder(sample.root)).operators
    assert (count.stores, count.partitions, join.stores, join.partitions) == (2, 2, 4, 2)
    assert count.loadable == (1, 2, 3, 4, 5, 6)
    assert count.changelogs == 12
    assert count.bytes_per_changelog is not None
    assert 300 < count.bytes_per_changelog < 3000
    third, fifth = count.snapshots
    assert (third.version, fifth.version, fifth.stores) == (3, 5, 2)
    assert third.uploaded_bytes == third.state_bytes
    assert 0 < fifth.uploaded_bytes < fifth.state_bytes
    on_disk = [path for path in (sample.root / "state" / "0").rglob("*") if path.is_file() and path.name != "metadata"]
    assert (count.files, count.bytes) == (len(on_disk), sum(path.stat().st_size for path in on_disk))


def test_a_store_that_is_gone_is_missed(sample: CheckpointBuilder) -> None:
    for path in sample.stores[0].folder.rglob("*.*"):
        path.unlink()
    checkpoint = CheckpointFolder(sample.root)
    assert checkpoint.operator(0).missing == [StoreKey(0, 0, "default")]
    assert checkpoint.newest_loadable() is None


def test_version_2_operator_metadata_wins(sample: CheckpointBuilder) -> None:
    folder = sample.root / "state" / "0" / "_metadata" / "v2"
    folder.mkdir()
    stores = [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2, "stateSchemaFilePaths": []}]
    info = {"operatorInfo": {"operatorId": 0, "operatorName": "tws"}, "stateStoreInfo": stores}
    (folder / "9").write_text('v2\n{"operatorInfo": 1}')
    (folder / "10").write_text("v2\n" + json.dumps(info | {"operatorPropertiesJson": "{}"}))
    assert CheckpointFolder(sample.root).operators[0].name == "tws"


def test_the_commit_log_decides_between_attempts(empty: CheckpointBuilder) -> None:
    stores = [empty.add_store(0, 0), empty.add_store(0, 1)]
    first = [store.commit(put(b"a", b"1")) for store in stores]
    for store in stores:
        store.newest, store.rows = None, {}
    second = stores[0].commit(put(b"a", b"2"), attempt=1)
    empty.finish_batch(0, ids={0: [[ref.uid] for ref in first]})
    stores[0].path(first[0], Kind.CHANGELOG).unlink()
    checkpoint = CheckpointFolder(empty.root)
    assert checkpoint.uids(1) == {StoreKey(0, partition, "default"): [ref.uid] for partition, ref in enumerate(first)}
    assert checkpoint.stores[0].resolve(1).ref == second
    assert checkpoint.newest_loadable() is None


def test_damage_in_sparks_files_is_noted_and_tolerated(sample: CheckpointBuilder) -> None:
    (sample.root / "metadata").write_bytes(b"\xff")
    (sample.root / "offsets" / "5").write_text("v1\nnonsense")
    (sample.root / "state" / "0" / "_metadata" / "metadata").write_text("v1\n[]")
    checkpoint = CheckpointFolder(sample.root)
    assert checkpoint.query_id is None
    assert [operator.name for operator in checkpoint.operators] == ["", "symmetricHashJoin"]
    assert len(checkpoint.problems) == 3
    assert checkpoint.newest_loadable() == 6


def test_a_query_without_state_has_no_operators(empty: CheckpointBuilder) -> None:
    empty.finish_batch(0)
    checkpoint = CheckpointFolder(empty.root)
    assert checkpoint.operators == []
    assert checkpoint.newest_loadable() is None


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpoint, match="does not exist"):
        CheckpointFolder(tmp_path / "absent")
    (tmp_path / "part-0.parquet").write_bytes(b"")
    with pytest.raises(NotACheckpoint, match="1 files, but neither"):
        CheckpointFolder(tmp_path)
    with pytest.raises(InvalidConfiguration):
        CheckpointFolder("gopher://host/folder")


@pytest.mark.parametrize(
    "name",
    [
        "1.delta",
        "2.snapshot",
        "1.zip",
        "1.changelog",
        "1_fc9aa4c7-dd4f-483c-90d0-182973bdcd22.changelog",
        "1_fc9aa4c7-dd4f-483c-90d0-182973bdcd22.zip",
    ],
)
def test_checkpoints_of_sparks_providers_are_refused_by_name(empty: CheckpointBuilder, name: str) -> None:
    empty.finish_batch(0)
    conf = {"conf": {"spark.sql.streaming.stateStore.providerClass": "org.example.TheirProvider"}}
    (empty.root / "offsets" / "0").write_text("v1\n" + json.dumps(conf) + "\n-")
    folder = empty.root / "state" / "0" / "0"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(b"x")
    with pytest.raises(NotACheckpoint, match=r"TheirProvider") as caught:
        CheckpointFolder(empty.root)
    assert name in caught.value.found
