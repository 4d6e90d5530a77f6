"""Checkpoints whose handles lie in merged files, in `snapline checkpoints`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapline.format import MergedReader
from snapline.format.source import BytesSource
from snapline.inspect import CheckpointFolder, Row, Status, open_store, verify

from ..format.writer import make_ref, write_merged
from ..inspect.builder import CheckpointBuilder
from ..inspect.numbered import build_interval_sample, merge_handles
from .conftest import Run


@pytest.fixture
def interval(tmp_path: Path) -> Iterator[CheckpointBuilder]:
    """Checkpoint 1 of batch 2 has handles of their own, 2 of batch 4 a merged file."""
    checkpoint = build_interval_sample(tmp_path / "checkpoint")
    yield checkpoint
    checkpoint.close()


@pytest.fixture
def merged(interval: CheckpointBuilder) -> Path:
    return merge_handles(interval, 2, 4)


def test_all_commands_read_them(interval: CheckpointBuilder, merged: Path, run: Run) -> None:
    listed = json.loads(run("checkpoints", "list", "--json", interval.root).out)
    assert [each["status"] for each in listed["checkpoints"]] == ["complete", "complete"]
    assert listed["restart"] == {"checkpoint": 2, "batch": 4, "lag": 1, "changelogs": 0}
    ran = run("checkpoints", "verify", interval.root)
    assert (ran.code, ran.err) == (0, "")
    assert "Everything is sound. A restart takes checkpoint 2" in ran.out
    described = run("checkpoints", "describe", "--operator=0", "--partition=1", "--version=5", interval.root)
    assert (described.code, described.err) == (0, "")
    assert merged.name in "".join(described.out.split())
    assert run("checkpoints", "describe", "--checkpoint=2", interval.root).out.count(make_ref(5).uid) == 6


def test_contents_are_those_of_the_handle_alone(interval: CheckpointBuilder) -> None:
    def contents() -> list[list[Row]]:
        found = []
        for store in CheckpointFolder(interval.root).stores:
            with open_store(store, 5) as opened:
                found.append(list(opened.rows()))
        return found

    before = contents()
    merge_handles(interval, 2, 4)
    assert contents() == before
    assert all(len(rows) == 150 for rows in before)


def test_a_store_without_a_file_of_its_own_is_there(interval: CheckpointBuilder, merged: Path) -> None:
    for path in (interval.root / "state" / "0" / "1").rglob("*"):
        if path.is_file():
            path.unlink()
    folder = CheckpointFolder(interval.root)
    assert folder.store(0, 1).files.snapshots == {make_ref(5)}
    verification = verify(folder)
    assert [each.status for each in verification.checkpoints] == [Status.DAMAGED, Status.DAMAGED]


def test_any_byte_that_is_another_damages_the_checkpoint(interval: CheckpointBuilder, merged: Path) -> None:
    good = merged.read_bytes()
    for at in range(3, len(good) - 40, len(good) // 25):
        hurt = bytearray(good)
        hurt[at] ^= 0x10
        merged.write_bytes(hurt)
        verification = verify(CheckpointFolder(interval.root))
        assert verification.damaged, at
        assert next(each.status for each in verification.checkpoints) is Status.COMPLETE
        assert any(str(merged.name) in finding.where for finding in verification.findings), at
    merged.write_bytes(good)
    assert not verify(CheckpointFolder(interval.root)).damaged


def test_one_that_is_cut_or_gone_damages_it(interval: CheckpointBuilder, merged: Path, run: Run) -> None:
    good = merged.read_bytes()
    merged.write_bytes(good[: len(good) // 2])
    ran = run("checkpoints", "verify", interval.root)
    assert ran.code == 1
    assert "A restart takes checkpoint 1" in ran.out
    merged.unlink()
    ran = run("checkpoints", "verify", interval.root)
    assert ran.code == 1
    assert "A restart takes checkpoint 1" in ran.out
    listed = json.loads(run("checkpoints", "list", "--json", interval.root).out)
    assert [each["status"] for each in listed["checkpoints"]] == ["complete", "damaged"]


def test_a_handle_at_another_place_than_the_metadata_says_is_damage(interval: CheckpointBuilder, merged: Path) -> None:
    members = list(MergedReader(BytesSource(merged.read_bytes())).read_members())
    swapped = [(member.store, member.ref, data) for member, data in reversed(members)]
    merged.write_bytes(write_merged(make_ref(5, 9), swapped))
    verification = verify(CheckpointFolder(interval.root))
    assert verification.damaged
    assert "at another place" in str(verification.checkpoints[1].error)


def test_half_a_file_that_nobody_names_is_left_over(interval: CheckpointBuilder, merged: Path, run: Run) -> None:
    stray = merged.with_name(merged.name.replace("5_", "9_"))
    stray.write_bytes(merged.read_bytes()[:100])
    ran = run("checkpoints", "verify", interval.root)
    assert ran.code == 0
    assert ran.out.count("left over") == 1
