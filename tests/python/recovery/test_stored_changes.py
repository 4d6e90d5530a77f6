"""The newest batch whose state loads from a checkpoint and the changelogs after it, on folders made for the purpose."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapline.folder.metadata import CheckpointMetadata, parse_checkpoint
from snapline.format import Kind, VersionRef
from snapline.recovery.stored_changes import StoredChanges

from ..folder.fakes import FakeFiles, FakeSpark
from ..folder.test_metadata import frame, make_meta
from ..format.writer import make_uid, write_changelog

BATCH = 2
FOLDERS = ("state/0/0", "state/0/1", "state/1/0/left-keyToNumValues")


@dataclass
class Query:
    """Batches up to `committed`, with a checkpoint of batch 2; stores are numbered as in `FOLDERS`."""

    committed: int
    ids: bool = True
    files: FakeFiles = field(default_factory=FakeFiles)

    def __post_init__(self) -> None:
        for batch in range(self.committed + 1):
            metadata: dict[str, Any] = {"nextBatchWatermarkMs": 0}
            if self.ids:
                uids = [[self.ref(store, batch + 1).uid] for store in range(3)]
                metadata["stateUniqueIds"] = {"0": uids[:2], "1": uids[2:]}
            self.files.put(f"commits/{batch}", f"v2\n{json.dumps(metadata)}".encode())

    @staticmethod
    def ref(store: int, version: int, attempt: int = 0) -> VersionRef:
        return VersionRef(version, make_uid(1_770_000_000_000 + version * 1000 + store * 10 + attempt))

    def name(self, store: int, version: int, attempt: int = 0) -> str:
        return f"{FOLDERS[store]}/{self.ref(store, version, attempt).file_name(Kind.CHANGELOG)}"

    def copy(self, store: int, versions: range, attempt: int = 0, base: VersionRef | None = None) -> None:
        for version in versions:
            data = write_changelog(self.ref(store, version, attempt), None, [], [], snapshot=base)
            self.files.put(self.name(store, version, attempt), data)

    def checkpoint(self, ahead: int = 0) -> CheckpointMetadata:
        meta = make_meta(1, BATCH, FakeSpark(self.files, 1))
        meta["operators"][1]["stores"][0]["partitions"][0]["version"] += ahead
        return parse_checkpoint(frame(meta), "it")

    def newest(self, ahead: int = 0) -> int:
        return StoredChanges(self.files).newest_batch(self.checkpoint(ahead))


@given(st.data())
def test_it_is_the_newest_that_each_store_has_whole(data: st.DataObject) -> None:
    query = Query(committed=data.draw(st.integers(BATCH, 8)))
    reached = []
    for store in range(3):
        last = data.draw(st.integers(BATCH + 1, query.committed + 2))
        query.copy(store, range(BATCH + 2, last + 1))
        is_torn = last > BATCH + 1 and data.draw(st.booleans())
        if is_torn:
            name = query.name(store, last)
            query.files.put(name, query.files.files[name][: data.draw(st.integers(0, 100))])
        if data.draw(st.booleans()):
            query.copy(store, range(BATCH + 2, 12), attempt=1)
        reached.append(last - 1 - is_torn)
    assert query.newest() == max(BATCH, min(*reached, query.committed))


def test_without_ids_in_the_commits_the_latest_attempt_counts() -> None:
    query = Query(committed=4, ids=False)
    for store in range(3):
        query.copy(store, range(BATCH + 2, 6))
    query.copy(0, range(BATCH + 2, 6), attempt=1)
    assert query.newest() == 4
    latest = query.name(0, 5, attempt=1)
    query.files.put(latest, query.files.files[latest][:-1])
    assert query.newest() == 3


def test_an_attempt_that_did_not_count_is_no_state() -> None:
    query = Query(committed=4)
    for store in range(3):
        query.copy(store, range(BATCH + 2, 6), attempt=int(store == 1))
    assert query.newest() == BATCH


def test_a_query_that_copies_none_is_listed_in_one_place() -> None:
    query = Query(committed=8)
    query.checkpoint()
    before = query.files.steps
    assert query.newest() == BATCH
    assert query.files.steps - before == 2, "the commits, and one store"


def test_a_state_that_went_on_from_another_attempt_is_none_of_the_checkpoint() -> None:
    query = Query(committed=4)
    named = {folder: handle.ref for folder, (*_, handle) in zip(FOLDERS, query.checkpoint().handles(), strict=True)}
    for store, folder in enumerate(FOLDERS):
        query.copy(store, range(BATCH + 2, 6), base=named[folder])
    assert query.newest() == 4
    query.copy(1, range(5, 6), base=VersionRef(BATCH + 1, make_uid(7)))
    assert query.newest() == 3


def test_a_snapshot_of_a_later_batch_is_of_no_use_for_an_earlier_one() -> None:
    query = Query(committed=5)
    for store in range(3):
        query.copy(store, range(BATCH + 2, 6))
    assert query.newest(ahead=1) == 4
    for store in range(3):
        query.files.delete(query.name(store, 5))
    # Now all stores but that one have batch 3, and that one may have nothing below its snapshot.
    query.files.delete(query.name(2, 4))
    assert query.newest(ahead=1) == BATCH


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_a_commit_that_cannot_be_read_names_no_state(harm: str) -> None:
    query = Query(committed=4)
    for store in range(3):
        query.copy(store, range(BATCH + 2, 6))
    query.files.put("commits/4", b"half") if harm == "damaged" else query.files.delete("commits/4")
    assert query.newest() == 3
    assert not StoredChanges(query.files).reaches(query.checkpoint(), 4)
    assert StoredChanges(query.files).reaches(query.checkpoint(), 3)


def test_discarded_are_those_after_the_checkpoint_alone() -> None:
    query = Query(committed=4)
    for store in range(3):
        query.copy(store, range(1, 6))
    StoredChanges(query.files).discard(query.checkpoint())
    left = sorted(name for name in query.files.files if name.endswith(".changelog"))
    assert left == sorted(query.name(store, version) for store in range(3) for version in range(1, BATCH + 2))
    assert query.newest() == BATCH
