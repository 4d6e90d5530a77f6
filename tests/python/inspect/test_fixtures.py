"""A store written by any released version can be read by every later one: the stores that the jar's tests keep."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from snapline.inspect import CheckpointFolder, open_store, verify

RESOURCES = Path(__file__).parents[2] / "jvm" / "core" / "resources"
FIXTURES = RESOURCES / "fixtures"
MERGED = RESOURCES / "merged-fixtures"


@pytest.mark.parametrize("fixture", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_an_old_store_is_read(fixture: Path, tmp_path: Path) -> None:
    shutil.copytree(fixture / "store", tmp_path / "state" / "0" / "0")
    checkpoint = CheckpointFolder(tmp_path)
    result = verify(checkpoint)
    assert result.findings == ()
    assert (result.unnamed, result.newest_loadable) == (0, 5)
    with open_store(checkpoint.store(0, 0), 5) as contents:
        lines = [f"{row.family} {row.key.hex()} {row.value.hex()}" for row in contents.rows()]
    assert sorted(lines) == sorted((fixture / "expected.txt").read_text().splitlines())


@pytest.mark.parametrize("fixture", sorted(MERGED.iterdir()), ids=lambda path: path.name)
def test_an_old_checkpoint_with_merged_handles_is_read(fixture: Path, tmp_path: Path) -> None:
    checkpoint_folder = tmp_path / "checkpoint"
    shutil.copytree(fixture / "checkpoint", checkpoint_folder)
    checkpoint = CheckpointFolder(checkpoint_folder)
    (numbered,) = checkpoint.numbered.read()
    metadata = numbered.metadata
    assert metadata is not None
    # Spark's two logs are none of the fixture; their entries are in the metadata.
    for log, entry in (("offsets", metadata.offsets), ("commits", metadata.commit)):
        (checkpoint_folder / log).mkdir()
        (checkpoint_folder / log / str(metadata.batch)).write_text(entry)
    assert verify(checkpoint).findings == ()
    handles = [*metadata.handles()]
    assert len(handles) == 2
    assert all(handle.merged is not None for _, _, handle in handles)
    for partition in range(2):
        with open_store(checkpoint.store(0, partition), 5) as contents:
            lines = [f"{row.family} {row.key.hex()} {row.value.hex()}" for row in contents.rows()]
        assert sorted(lines) == sorted((fixture / "expected.txt").read_text().splitlines())


def test_there_are_stores_of_old_versions() -> None:
    names = ["format-1", "format-1-hashmap", "format-1-steps", "format-1-steps-hashmap"]
    assert [path.name for path in sorted(FIXTURES.iterdir())] == names
    assert [path.name for path in sorted(MERGED.iterdir())] == ["format-1"]
