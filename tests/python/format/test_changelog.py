from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapline.errors import CheckpointDamaged
from snapline.format import ChangelogReader, Entry, Family, Kind, Operation
from snapline.format.source import BytesSource

from .writer import as_json, common, make_ref, write_changelog, write_entries, write_frame

FAMILY = Family(0, "default", 3, True, False, False)
ENTRY = st.builds(
    Entry,
    st.integers(0, 65_535),
    st.sampled_from(Operation),
    st.binary(max_size=200),
    st.binary(max_size=200),
)
REF, PARENT = make_ref(7), make_ref(6)


def open_bytes(data: bytes) -> ChangelogReader:
    return ChangelogReader(BytesSource(data), REF)


@given(st.lists(st.lists(ENTRY, max_size=6), max_size=4), st.booleans())
def test_what_was_written_is_read(blocks: list[list[Entry]], compress: bool) -> None:
    reader = open_bytes(write_changelog(REF, PARENT, blocks, [FAMILY], compress=compress))
    reader.check_blocks()
    wanted = [entry for block in blocks for entry in block if entry.operation is not Operation.VOID]
    assert list(reader.read_entries()) == wanted
    assert list(reader.read_entries()) == wanted
    assert reader.meta.parent == PARENT
    assert reader.meta.families == (FAMILY,)
    assert reader.meta.entries == sum(map(len, blocks))


def test_unknown_members_are_ignored() -> None:
    data = write_changelog(REF, None, [], [FAMILY], later={"x": [1]})
    assert open_bytes(data).meta.parent is None


def test_another_files_content_is_damage() -> None:
    with pytest.raises(CheckpointDamaged, match="it holds version 6"):
        open_bytes(write_changelog(PARENT, None, [], []))


@pytest.mark.parametrize(
    "block",
    [
        b"\x01",
        b"\x01\x05\x00abc",
        b"\x05\x00\x00",  # operation 5
        b"\x81\x80\x80\x80\x80\x01\x00\x00",  # six bytes
        b"\x01\xff\xff\xff\xff\x7f\x00",  # beyond 32 bits
        b"\x01\xff\xff\xff\xff\x0f\x00",  # a key of 4 GiB
        b"\x81\x80\x80\x01\x00\x00",  # family 262144
    ],
)
def test_impossible_entries_are_damage(block: bytes) -> None:
    meta = json.loads(common_meta()) | {"entries": 1, "rawBytes": len(block)}
    reader = open_bytes(write_frame(Kind.CHANGELOG, [block], as_json(meta)))
    with pytest.raises(CheckpointDamaged):
        list(reader.read_entries())


def test_an_entry_does_not_cross_blocks() -> None:
    whole = write_entries([Entry(0, Operation.PUT, b"key", b"value")])
    meta = json.loads(common_meta()) | {"entries": 1, "rawBytes": len(whole)}
    with pytest.raises(CheckpointDamaged, match="crosses"):
        list(open_bytes(write_frame(Kind.CHANGELOG, [whole[:5], whole[5:]], as_json(meta))).read_entries())


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "handle"},
        {"version": -1},
        {"version": "7"},
        {"version": True},
        {"uid": "x"},
        {"parent": 3},
        {"parent": {"version": 1}},
        {"families": [3]},
        {"families": [{"id": 70_000}]},
        {"properties": {"encoding": 1}},
        {"entries": 1.5},
        {"entries": None},
    ],
)
def test_a_meta_of_other_types_is_damage(change: dict[str, Any]) -> None:
    with pytest.raises(CheckpointDamaged, match="meta cannot be read"):
        open_bytes(write_frame(Kind.CHANGELOG, [], as_json(json.loads(common_meta()) | change)))


@pytest.mark.parametrize(
    "member", sorted(json.loads(as_json(common("changelog", REF, []))).keys() | {"parent", "snapshot"})
)
def test_a_missing_member_is_damage(member: str) -> None:
    meta = json.loads(common_meta())
    del meta[member]
    with pytest.raises(CheckpointDamaged):
        open_bytes(write_frame(Kind.CHANGELOG, [], as_json(meta)))


@pytest.mark.parametrize(
    "meta",
    [b"", b"[]", b"\xff\xfe", b"{", b"[" * 100_000, b'{"version":' + b"9" * 10_000 + b"}"],
    ids=["empty", "array", "no text", "open", "deep", "long number"],
)
def test_what_is_no_meta_is_damage(meta: bytes) -> None:
    with pytest.raises(CheckpointDamaged):
        open_bytes(write_frame(Kind.CHANGELOG, [], meta))


def common_meta() -> bytes:
    return as_json(
        common("changelog", REF, [FAMILY])
        | {"parent": None, "snapshot": None, "entries": 0, "rawBytes": 0, "snapshotDistance": 1, "changelogBytes": 0}
    )
