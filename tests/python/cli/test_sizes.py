"""Sizes in `snapline checkpoints`: what lies in a handle counts, and all commands count alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapline.format import Kind

from ..format.writer import write_handle
from ..inspect.builder import CheckpointBuilder, put
from ..inspect.numbered import build_interval_sample, merge_handles
from .conftest import Run


@pytest.fixture
def interval(tmp_path: Path) -> Iterator[CheckpointBuilder]:
    """Checkpoint 1 of batch 2 and 2 of batch 4."""
    checkpoint = build_interval_sample(tmp_path / "checkpoint")
    yield checkpoint
    checkpoint.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[CheckpointBuilder, int]]:
    """A state so small that its snapshot is a handle and nothing else; and the bytes of that."""
    checkpoint = CheckpointBuilder(tmp_path / "small")
    store = checkpoint.add_store(0, 0)
    ref = store.commit(put(b"a", b"1"))
    handle = store.path(ref, Kind.HANDLE)
    handle.write_bytes(write_handle(ref, [], {"state": b"x" * 500}, store.families, uploaded=[]))
    checkpoint.finish_batch(0)
    yield checkpoint, handle.stat().st_size
    checkpoint.close()


def test_a_snapshot_in_its_handle_has_the_size_of_the_handle(small: tuple[CheckpointBuilder, int], run: Run) -> None:
    checkpoint, length = small
    assert length > 500
    (operator,) = json.loads(run("checkpoints", "list", "--json", checkpoint.root).out)["operators"]
    (snapshot,) = operator["snapshots"]
    assert (snapshot["state_bytes"], snapshot["uploaded_bytes"], snapshot["uploaded_files"]) == (length, length, 0)
    listed = run("checkpoints", "list", checkpoint.root).out
    assert " 0 B" not in listed
    assert f"{length} B {length} B 100 %" in " ".join(listed.split())
    assert f"{length} B" in run("checkpoints", "describe", checkpoint.root).out


def test_a_snapshot_is_as_large_as_what_is_read_to_load_it(interval: CheckpointBuilder, run: Run) -> None:
    for name in ("its own handles", "a merged file"):
        if name == "a merged file":
            merge_handles(interval, 2, 4)
        listed = json.loads(run("checkpoints", "list", "--json", interval.root).out)
        for operator in listed["operators"]:
            for snapshot in operator["snapshots"]:
                options = (f"--operator={operator['operator']}", f"--version={snapshot['version']}", "--json")
                stores = json.loads(run("checkpoints", "describe", interval.root, *options).out)
                read = sum(file["bytes"] for store in stores for file in store["files"])
                assert snapshot["state_bytes"] == read, name


@pytest.mark.parametrize("number", [1, 2])
def test_the_stores_of_a_checkpoint_add_up_to_its_sizes(interval: CheckpointBuilder, run: Run, number: int) -> None:
    said = json.loads(run("checkpoints", "describe", interval.root, f"--checkpoint={number}", "--json").out)
    assert sum(store["bytes"] for store in said["stores"]) == said["state_size"]
    assert sum(store["uploaded_bytes"] for store in said["stores"]) == said["checkpointed_size"]
    (listed,) = [
        each
        for each in json.loads(run("checkpoints", "list", "--json", interval.root).out)["checkpoints"]
        if each["id"] == number
    ]
    assert (listed["state_size"], listed["checkpointed_size"]) == (said["state_size"], said["checkpointed_size"])
    # Both are of the same batch, and nothing else was taken of it.
    snapshots = [
        snapshot
        for operator in json.loads(run("checkpoints", "list", "--json", interval.root).out)["operators"]
        for snapshot in operator["snapshots"]
        if snapshot["version"] == said["batch"] + 1
    ]
    assert sum(snapshot["state_bytes"] for snapshot in snapshots) == said["state_size"]
    assert sum(snapshot["uploaded_bytes"] for snapshot in snapshots) == said["checkpointed_size"]
