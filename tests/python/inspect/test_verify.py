from __future__ import annotations

import random
from pathlib import Path

import pytest

from snapline.format import Kind
from snapline.inspect import CheckpointFolder, Verification, verify

from ..format.writer import make_ref
from .builder import CheckpointBuilder


def run(root: Path) -> Verification:
    return verify(CheckpointFolder(root))


def state_files(root: Path) -> list[Path]:
    return sorted(path for path in (root / "state").rglob("*.*") if path.is_file())


def test_a_sound_checkpoint(sample: CheckpointBuilder) -> None:
    seen: list[int] = []
    result = verify(CheckpointFolder(sample.root), lambda file: seen.append(file.size))
    assert result.findings == ()
    assert (result.newest, result.newest_loadable, result.damaged) == (6, 6, False)
    assert (len(seen), sum(seen)) == (result.files, result.bytes)
    assert result.bytes == sum(path.stat().st_size for path in state_files(sample.root))


def test_a_flipped_byte_in_any_file_is_found(sample: CheckpointBuilder) -> None:
    pick = random.Random(7)
    for path in state_files(sample.root):
        whole = path.read_bytes()
        hurt = bytearray(whole)
        hurt[pick.randrange(len(hurt))] ^= 1 << pick.randrange(8)
        path.write_bytes(hurt)
        result = run(sample.root)
        assert result.damaged
        assert path.name in "".join(str(finding.error) for finding in result.findings)
        path.write_bytes(whole)


def test_names_the_newest_version_that_loads(sample: CheckpointBuilder) -> None:
    store = sample.stores[3]
    store.path(make_ref(6), Kind.CHANGELOG).write_bytes(b"")
    result = run(sample.root)
    assert result.damaged
    assert (result.newest, result.newest_loadable) == (6, 5)


def test_a_lost_table_file_is_found(sample: CheckpointBuilder) -> None:
    store = sample.stores[0]
    table = next(iter(store.known.values()))
    (store.folder / table.stored_name).unlink()
    result = run(sample.root)
    assert result.damaged
    assert any(table.stored_name in finding.error.found for finding in result.findings)
    assert result.newest_loadable == 6


def test_a_lost_changelog_is_found(sample: CheckpointBuilder) -> None:
    store = sample.stores[1]
    store.path(make_ref(6), Kind.CHANGELOG).unlink()
    result = run(sample.root)
    assert [finding.where for finding in result.findings] == [
        str(CheckpointFolder(sample.root).store(1, 0, "left").key)
    ]
    assert result.newest_loadable == 5


def test_what_a_killed_task_leaves_is_no_damage(sample: CheckpointBuilder) -> None:
    store = sample.stores[0]
    whole = store.path(make_ref(6), Kind.CHANGELOG).read_bytes()
    store.path(make_ref(6, attempt=1), Kind.CHANGELOG).write_bytes(whole[:50])
    store.path(make_ref(7), Kind.CHANGELOG).write_bytes(b"")
    (store.folder / "sst" / f"{make_ref(7).uid}.sst").write_bytes(b"half")
    result = run(sample.root)
    assert not result.damaged
    assert [finding.leftover for finding in result.findings] == [True, True]
    assert result.unnamed == 1
    assert result.newest_loadable == 6


def test_what_clean_up_is_removing_is_no_damage(sample: CheckpointBuilder) -> None:
    for store in sample.stores:
        store.path(make_ref(1), Kind.CHANGELOG).unlink()
    assert run(sample.root).findings == ()


def test_a_store_that_is_gone_is_found(sample: CheckpointBuilder) -> None:
    for path in sample.stores[0].folder.rglob("*.*"):
        path.unlink()
    result = run(sample.root)
    assert "operator 0 partition 0" in [finding.where for finding in result.findings]
    assert result.newest_loadable is None


@pytest.mark.parametrize("name", ["7.delta", "7.zip"])
def test_files_of_another_provider_in_between_are_found(sample: CheckpointBuilder, name: str) -> None:
    (sample.stores[0].folder / name).write_bytes(b"x")
    (finding,) = run(sample.root).findings
    assert finding.error.code == "SNAPLINE-INCOMPATIBLE"
