from __future__ import annotations

from pathlib import Path

import pytest

from snapline.errors import CheckpointDamaged, StateNotFound
from snapline.format import Entry, Family, Kind, Operation
from snapline.inspect import CheckpointFolder, open_store

from ..format.writer import make_ref, write_changelog
from .builder import ROWS, CheckpointBuilder, StoreBuilder, delete, put


def read(root: Path, version: int) -> ROWS:
    store = CheckpointFolder(root).store(0, 0)
    with open_store(store, version) as contents:
        numbers = {family.name: family.id for family in contents.families}
        return {(numbers[row.family], row.key): row.value for row in contents.rows()}


def test_every_version_is_what_was_committed(sample: CheckpointBuilder) -> None:
    for version in range(1, 7):
        assert read(sample.root, version) == sample.stores[0].history[version]


def test_all_operations_over_a_snapshot(empty: CheckpointBuilder, store: StoreBuilder) -> None:
    store.commit(*(put(bytes([i]), b"old") for i in range(10)), put(b"t", b"1", family=1))
    store.take_snapshot()
    store.commit(
        Entry(0, Operation.VOID, b"\x03", b"never"),
        Entry(0, Operation.MERGE, b"\x01", b"+more"),
        Entry(0, Operation.DELETE_RANGE, b"\x02", b"\x05"),
        Entry(0, Operation.MERGE, b"\x03", b"new"),
        delete(b"\x07"),
        Entry(1, Operation.MERGE, b"u", b"2"),
    )
    rows = read(empty.root, 2)
    assert rows == store.history[2]
    assert rows[0, b"\x01"] == b"old+more"
    assert rows[0, b"\x03"] == b"new"


def test_rows_of_one_family_come_in_order(sample: CheckpointBuilder) -> None:
    with open_store(CheckpointFolder(sample.root).store(0, 1), 6) as contents:
        keys = [row.key for row in contents.rows("timers")]
        assert keys == [bytes([batch]) for batch in range(6)]
        with pytest.raises(StateNotFound, match="default, timers"):
            next(contents.rows("absent"))


def test_merges_that_rocksdb_has_not_put_together() -> None:
    store = CheckpointFolder(Path(__file__).parent / "fixtures" / "merged").store(0, 0)
    with open_store(store, 3) as contents:
        assert [tuple(row) for row in contents.rows()] == [
            ("counts", b"k1", b"v1"),
            ("lists", b"m", b"ab"),
            ("lists", b"n", b"xy"),
        ]


def test_a_family_made_anew_does_not_show_old_rows(empty: CheckpointBuilder, store: StoreBuilder) -> None:
    store.commit(put(b"a", b"1"))
    store.take_snapshot()
    ref = make_ref(2)
    anew = Family(7, "default", 1, True, False, False)
    data = write_changelog(ref, store.newest, [[put(b"b", b"2", family=7)]], [anew], snapshot=store.snapshot)
    store.path(ref, Kind.CHANGELOG).write_bytes(data)
    with open_store(CheckpointFolder(empty.root).store(0, 0), 2) as contents:
        assert [row.key for row in contents.rows()] == [b"b"]


def test_a_hurt_table_file_is_never_opened(empty: CheckpointBuilder, store: StoreBuilder) -> None:
    store.commit(put(b"a", b"1"))
    store.take_snapshot()
    table = next((store.folder / "sst").iterdir())
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    with (
        pytest.raises(CheckpointDamaged, match="checksum"),
        open_store(CheckpointFolder(empty.root).store(0, 0), 1),
    ):
        pass
