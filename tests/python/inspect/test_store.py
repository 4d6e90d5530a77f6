from __future__ import annotations

from pathlib import Path

import pytest

from snapline.errors import CheckpointDamaged, StateNotFound
from snapline.format import Kind
from snapline.inspect import Chain, CheckpointFolder, Store

from ..format.writer import make_ref, write_changelog
from .builder import CheckpointBuilder, StoreBuilder, put


def opened(root: Path) -> Store:
    return CheckpointFolder(root).store(0, 0)


def shape(chain: Chain) -> tuple[int | None, list[int]]:
    return chain.handle.ref.version if chain.handle else None, [meta.ref.version for meta in chain.changelogs]


def test_goes_down_to_the_next_snapshot_or_the_empty_store(sample: CheckpointBuilder) -> None:
    store = opened(sample.root)
    assert [shape(store.resolve(version)) for version in range(1, 7)] == [
        (None, [1]),
        (None, [1, 2]),
        (3, []),
        (3, [4]),
        (5, []),
        (5, [6]),
    ]
    assert [meta.ref.version for meta in store.snapshots()] == [3, 5]


def test_the_latest_attempt_goes_first(empty: CheckpointBuilder, store: StoreBuilder) -> None:
    first = store.commit(put(b"a", b"1"))
    store.newest, store.rows = None, {}
    second = store.commit(put(b"a", b"2"), attempt=1)
    third = store.commit(put(b"b", b"3"))
    found = opened(empty.root)
    assert found.resolve(1).ref == second
    assert found.resolve(1, [first.uid]).ref == first
    assert [meta.ref for meta in found.resolve(2).changelogs] == [second, third]


def test_an_unsound_snapshot_is_set_aside(sample: CheckpointBuilder) -> None:
    builder = sample.stores[0]
    assert builder.snapshot is not None
    handle = builder.path(builder.snapshot, Kind.HANDLE)
    handle.write_bytes(handle.read_bytes()[:-1])
    assert shape(opened(sample.root).resolve(6)) == (3, [4, 5, 6])


def test_a_snapshot_without_its_table_file_is_set_aside(sample: CheckpointBuilder) -> None:
    builder = sample.stores[0]
    newest = max(builder.known.values(), key=lambda table: table.name)
    (builder.folder / newest.stored_name).unlink()
    assert shape(opened(sample.root).resolve(5)) == (3, [4, 5])


def test_a_gap_makes_later_versions_unusable(sample: CheckpointBuilder) -> None:
    builder = sample.stores[0]
    for path in [*builder.folder.glob("4_*"), *builder.folder.glob("5_*.handle")]:
        path.unlink()
    store = opened(sample.root)
    assert store.loadable_versions() == [1, 2, 3]
    with pytest.raises(CheckpointDamaged, match="use version 3"):
        store.resolve(6)


def test_a_worse_attempt_gives_way_to_a_sound_one(empty: CheckpointBuilder, store: StoreBuilder) -> None:
    first = store.commit(put(b"a", b"1"))
    store.newest, store.rows = None, {}
    second = store.commit(put(b"a", b"2"), attempt=1)
    store.path(second, Kind.CHANGELOG).write_bytes(b"half")
    assert opened(empty.root).resolve(1).ref == first


def test_what_is_not_there_is_named(sample: CheckpointBuilder) -> None:
    checkpoint = CheckpointFolder(sample.root)
    with pytest.raises(StateNotFound, match="from 1 to 6"):
        checkpoint.store(0, 0).resolve(9)
    with pytest.raises(StateNotFound, match="no operator 7"):
        checkpoint.store(7, 0)
    with pytest.raises(StateNotFound, match="left, right"):
        checkpoint.store(1, 0)


def test_two_changelogs_that_name_each_other_end(empty: CheckpointBuilder, store: StoreBuilder) -> None:
    one, two = make_ref(1), make_ref(2)
    store.path(one, Kind.CHANGELOG).write_bytes(write_changelog(one, two, [], []))
    store.path(two, Kind.CHANGELOG).write_bytes(write_changelog(two, one, [], []))
    found = opened(empty.root)
    assert found.loadable_versions() == []
    with pytest.raises(CheckpointDamaged, match="parent is not older"):
        found.resolve(2)
