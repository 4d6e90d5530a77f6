from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snapline.errors import CheckpointDamaged, IncompatibleState, NotACheckpoint, UnsupportedVersion
from snapline.folder.end_of_time import END_OF_TIME_MS
from snapline.query import LocalFiles
from snapline.savepoint.layout import OperatorLayout, StateKey, parse_operator
from snapline.savepoint.metadata import (
    SavepointFile,
    SavepointMetadata,
    StoreVersion,
    parse_savepoint,
    read_savepoint,
)
from snapline.savepoint.restore import check_not_drained

OFFSETS = 'v1\n{"batchWatermarkMs":5,"conf":{"spark.sql.shuffle.partitions":"4"}}\n{"logOffset":3}'


def operator(number: int = 0, kind: str = "hashed") -> OperatorLayout:
    placement = {"kind": kind, "paths": [[0]], "why": "nobody knows"}
    family = {"name": "default", "key": {}, "value": {}, "encoder": {}, "multi": False, "placement": placement}
    store = {"name": "default", "states": [family]}
    return parse_operator({"id": number, "name": "dedupe", "parallelism": 4, "schemaFiles": [], "stores": [store]})


def sample() -> SavepointMetadata:
    return SavepointMetadata(
        id="5d3a0a0c-0f5e-4b4b-9a55-0d1f8e8d1c11",
        format="canonical",
        created=1_770_000_000_000,
        query="q",
        batch=3,
        checkpoint=None,
        offsets=OFFSETS,
        commit='v1\n{"nextBatchWatermarkMs":7}',
        planned=None,
        max_parallelism=57600,
        provider="io.snapline.spark.SnaplineStateStoreProvider",
        writer="0.1.0",
        spark="4.2.0",
        operators=(operator(),),
        rows={"operator-0/default": 12},
        files=(SavepointFile("operator-0/default/part-0.parquet", 10, 20),),
    )


def test_comes_back_as_it_was() -> None:
    assert parse_savepoint(sample().to_bytes(), "here") == sample()
    assert sample().parallelism == 4
    assert sample().commit_entry.watermark_ms == 7


def at_watermarks(commit: int, planned: int | None) -> SavepointMetadata:
    return dataclasses.replace(
        sample(),
        commit=f'v1\n{{"nextBatchWatermarkMs":{commit}}}',
        planned=None if planned is None else f'v1\n{{"batchWatermarkMs":{planned},"conf":{{}}}}\n{{"logOffset":3}}',
    )


def test_one_of_a_query_that_was_drained_or_was_about_to_be_is_not_restored() -> None:
    for commit, planned in [(7, None), (7, 7), (7, END_OF_TIME_MS - 1)]:
        check_not_drained(at_watermarks(commit, planned), "file:/savepoint")
    for commit, planned in [(7, END_OF_TIME_MS), (END_OF_TIME_MS, None)]:
        with pytest.raises(IncompatibleState, match="file:/savepoint is of a query that was drained"):
            check_not_drained(at_watermarks(commit, planned), "file:/savepoint")


def native_sample() -> SavepointMetadata:
    uid = "01a1fdd8-23e9-7098-be96-43b23994934e"
    stores = tuple(StoreVersion(0, "default", partition, 4, uid) for partition in range(4))
    return dataclasses.replace(sample(), format="native", backend="rocksdb", stores=stores)


def test_a_native_one_comes_back_too_and_older_versions_refuse_it() -> None:
    assert parse_savepoint(native_sample().to_bytes(), "here") == native_sample()
    assert int.from_bytes(native_sample().to_bytes()[8:10], "little") == 2
    assert int.from_bytes(sample().to_bytes()[8:10], "little") == 1


def test_one_with_rows_that_wait_names_their_operators_and_older_versions_refuse_it() -> None:
    waiting = dataclasses.replace(native_sample(), in_flight=(0,))
    assert parse_savepoint(waiting.to_bytes(), "here") == waiting
    assert int.from_bytes(waiting.to_bytes()[8:10], "little") == 3
    for wrong in ((7,), ("0",), (True,)):
        with pytest.raises(CheckpointDamaged, match="rows wait in operators"):
            parse_savepoint(dataclasses.replace(waiting, in_flight=wrong).to_bytes(), "here")  # type: ignore[arg-type]


def test_a_native_one_has_every_partition_of_every_store_once() -> None:
    stores = native_sample().stores
    for wrong in (stores[1:], (*stores, stores[0]), (*stores[1:], dataclasses.replace(stores[0], store="other"))):
        with pytest.raises(CheckpointDamaged, match="stores"):
            parse_savepoint(dataclasses.replace(native_sample(), stores=wrong).to_bytes(), "here")
    evil = dataclasses.replace(stores[0], uid="../../x")
    with pytest.raises(CheckpointDamaged, match="uid"):
        parse_savepoint(dataclasses.replace(native_sample(), stores=(evil, *stores[1:])).to_bytes(), "here")


@pytest.mark.parametrize("kind", [sample, native_sample])
def test_every_byte_counts(kind: Callable[[], SavepointMetadata]) -> None:
    data = kind().to_bytes()
    for at in range(len(data)):
        harmed = bytearray(data)
        harmed[at] ^= 0x40
        with pytest.raises((CheckpointDamaged, UnsupportedVersion)):
            parse_savepoint(bytes(harmed), "here")


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a//b", "a/./b", ""])
def test_a_file_stays_in_the_folder(name: str) -> None:
    evil = dataclasses.replace(sample(), files=(SavepointFile(name, 1, 1),))
    with pytest.raises(CheckpointDamaged):
        parse_savepoint(evil.to_bytes(), "here")


@pytest.mark.parametrize("change", [{"format": "clay"}, {"offsets": "v1\n{}"}, {"batch": -1}])
def test_refuses_what_it_does_not_know(change: dict[str, object]) -> None:
    with pytest.raises(CheckpointDamaged):
        parse_savepoint(dataclasses.replace(sample(), **change).to_bytes(), "here")  # type: ignore[arg-type]


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpoint, match="this is no savepoint"):
        read_savepoint(LocalFiles(tmp_path))
    (tmp_path / "_unfinished").touch()
    with pytest.raises(NotACheckpoint, match="never finished"):
        read_savepoint(LocalFiles(tmp_path))


def test_operators_say_which_states_cannot_move() -> None:
    assert operator().fixed == {}
    assert operator(kind="fixed").fixed == {"default": "nobody knows"}
    assert json.loads(operator().text)["name"] == "dedupe"


def test_without_a_key_there_is_one_partition() -> None:
    assert operator().is_spread
    assert not operator(kind="first").is_spread


@pytest.mark.parametrize(
    ("family", "folder"),
    [("total", "total"), ("_x", "%5Fx"), ("$ttl_x", "$ttl_x"), ("a b/c", "a%20b%2Fc"), ("größe", "gr%C3%B6%C3%9Fe")],
)
def test_folders_are_names_that_every_file_system_takes(family: str, folder: str) -> None:
    assert StateKey(2, "default", family).folder == f"operator-2/{folder}"


def test_a_store_stands_for_its_only_state() -> None:
    assert StateKey(0, "left-keyToNumValues", "default").name == "left-keyToNumValues"
    assert StateKey(0, "default", "default").folder == "operator-0/default"
