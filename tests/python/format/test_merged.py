from __future__ import annotations

import pytest

from snapline.errors import CheckpointDamaged, SnaplineError
from snapline.format import HandleReader, Kind, Member, MemberSource, MergedReader
from snapline.format.names import merged_name, parse_merged_name
from snapline.format.source import BytesSource

from .writer import as_json, make_ref, write_frame, write_handle, write_merged

STORES = ("state/0/0", "state/0/1", "state/1/0/left-keyToNumValues")
HANDLES = {
    store: (make_ref(8, n), write_handle(make_ref(8, n), [], {"CURRENT": b"x" * 9 * n}, []))
    for n, store in enumerate(STORES)
}
REF = make_ref(8, 77)


def sample() -> bytes:
    return write_merged(REF, [(store, ref, data) for store, (ref, data) in HANDLES.items()])


def test_members_are_what_was_put_in() -> None:
    reader = MergedReader(BytesSource(sample()), REF)
    assert {member.store: (member.ref, data) for member, data in reader.read_members()} == HANDLES


def test_a_member_reads_as_a_file_of_its_own() -> None:
    source = BytesSource(sample())
    for member in MergedReader(source).members:
        handle = HandleReader(MemberSource(source, member), member.ref)
        assert handle.meta.ref == HANDLES[member.store][0]
        assert handle.size == len(HANDLES[member.store][1])
        handle.read_local_files()


def test_any_byte_that_is_another_and_any_cut_is_seen() -> None:
    good = sample()
    middle = MergedReader(BytesSource(good)).members[1]

    def read(data: bytes) -> None:
        list(MergedReader(BytesSource(data), REF).read_members())

    for at in range(len(good)):
        bad = bytearray(good)
        bad[at] ^= 0x10
        with pytest.raises(SnaplineError):
            read(bytes(bad))
        if middle.offset <= at < middle.offset + middle.length:
            with pytest.raises(SnaplineError):
                HandleReader(MemberSource(BytesSource(bytes(bad)), middle), middle.ref).read_local_files()
    for length in range(len(good)):
        with pytest.raises(CheckpointDamaged):
            read(good[:length])
        if length < middle.offset + middle.length:
            with pytest.raises(CheckpointDamaged):
                HandleReader(MemberSource(BytesSource(good[:length]), middle), middle.ref).read_local_files()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"members": []}, "not its blocks"),
        ({"uid": make_ref(8, 5).uid}, "it holds version"),
        ({"kind": "handle"}, "not that of a merged"),
        ({"members": [{"store": "state/../0", "uid": REF.uid, "offset": 28, "length": 1}]}, "no store"),
        ({"members": [{"store": "state/0/0", "uid": "x", "offset": 28, "length": 1}]}, "no UUID"),
        ({"members": [{"store": "state/0/0", "uid": REF.uid, "offset": 16, "length": 1}]}, "no block"),
    ],
)
def test_an_index_that_does_not_fit_is_damage(change: dict[str, object], found: str) -> None:
    blocks = [data for _, data in HANDLES.values()]
    meta = {"kind": "merged", "version": 8, "uid": REF.uid, "writer": "0", "created": 1, "members": []} | change
    data = write_frame(Kind.MERGED, blocks, as_json(meta), compress=False)
    with pytest.raises(CheckpointDamaged, match=found):
        MergedReader(BytesSource(data), REF)


def test_a_member_behind_the_end_is_damage() -> None:
    with pytest.raises(CheckpointDamaged, match="behind them"):
        MemberSource(BytesSource(b"x" * 50), Member("state/0/0", REF, 40, 11))


def test_names() -> None:
    assert parse_merged_name(merged_name(REF)) == REF
    for name in ("snapline/merged/x.merged", f"snapline/{REF.file_name(Kind.MERGED)}", "snapline/interval"):
        assert parse_merged_name(name) is None
