from __future__ import annotations

from pathlib import Path

import pytest

from snapline.folder.files import LocalFiles
from snapline.sink.partition_notes import PartitionNotes


@pytest.mark.parametrize("name", ["Ledger", "..", ".hidden", "a/b", "a b/../Zoë", "-"])
def test_a_batch_is_begun_as_the_newest_note_says(name: str, tmp_path: Path) -> None:
    notes, other = (PartitionNotes(LocalFiles(tmp_path), sink) for sink in (name, "other"))
    assert notes.begun_with(7) == set()
    notes.add(7, 4)
    other.add(9, 1)
    assert notes.begun_with(6) == set()
    assert notes.begun_with(7) == notes.begun_with(12) == {4}
    notes.add(9, 8)
    notes.add(9, 8)
    notes.add(9, 10)
    assert notes.begun_with(9) == notes.begun_with(10) == {8, 10}
    assert notes.begun_with(8) == set(), "notes of earlier batches are deleted"
    notes.add(10, 8)
    assert notes.begun_with(10) == {8}
    assert other.begun_with(9) == {1}
    folders = {path.parent for path in tmp_path.rglob("*") if path.is_file()}
    assert {folder.parent for folder in folders} == {tmp_path / "snapline/sinks"}
    assert len(folders) == 2


def test_a_crash_between_two_notes_leaves_both(tmp_path: Path) -> None:
    class NeverDeletes(LocalFiles):
        def delete(self, name: str) -> None:
            pass

    notes = PartitionNotes(NeverDeletes(tmp_path), "sink")
    notes.add(3, 2)
    notes.add(5, 4)
    (tmp_path / "snapline/sinks/sink/no note").touch()
    assert notes.begun_with(4) == {2}
    assert notes.begun_with(5) == {4}
