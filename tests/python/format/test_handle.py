from __future__ import annotations

import pytest

from snapline.errors import CheckpointDamaged, UnsupportedVersion
from snapline.format import Family, HandleReader, Kind, TableFile
from snapline.format.source import BytesSource

from .writer import make_ref, make_uid, write_frame, write_handle

REF = make_ref(3)
LOCAL = {"CURRENT": b"MANIFEST-000005\n", "MANIFEST-000005": b"\x01\x02" * 30, "OPTIONS-000007": b""}
FILES = [TableFile("000008.sst", make_uid(8), 1234, 0xFFFF_FFFF), TableFile("000009.sst", make_uid(9), 1, 0)]
FAMILIES = [Family(0, "default", 10, True, False, False), Family(4, "timers", 2, False, True, True)]
SAMPLE = write_handle(REF, FILES, LOCAL, FAMILIES, uploaded=FILES[1:])


def read(data: bytes) -> dict[str, bytes]:
    return HandleReader(BytesSource(data), REF).read_local_files()


def test_what_was_written_is_read() -> None:
    assert read(SAMPLE) == LOCAL
    meta = HandleReader(BytesSource(SAMPLE), REF).meta
    assert meta.files == tuple(FILES)
    assert meta.families == tuple(FAMILIES)
    assert (meta.state_bytes, meta.uploaded_files, meta.uploaded_bytes) == (1235, 1, 1)
    assert meta.files[0].stored_name == f"sst/{make_uid(8)}.sst"


def test_every_flipped_byte_is_seen() -> None:
    for position in range(len(SAMPLE)):
        hurt = bytearray(SAMPLE)
        hurt[position] ^= 0x20
        with pytest.raises((CheckpointDamaged, UnsupportedVersion)):
            read(bytes(hurt))


def test_every_cut_is_seen() -> None:
    for length in range(len(SAMPLE)):
        with pytest.raises(CheckpointDamaged):
            read(SAMPLE[:length])


def test_blocks_must_be_the_files_it_names() -> None:
    meta = HandleReader(BytesSource(SAMPLE), REF)._frame.meta
    data = write_frame(Kind.HANDLE, list(LOCAL.values())[:2], meta)
    with pytest.raises(CheckpointDamaged, match="blocks are not the files"):
        read(data)


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/tmp/x", "..", ""])
def test_a_name_that_leaves_the_folder_is_damage(name: str) -> None:
    with pytest.raises(CheckpointDamaged, match="leaves its folder"):
        read(write_handle(REF, [], {name: b"x"}, []))
    with pytest.raises(CheckpointDamaged, match="leaves its folder"):
        read(write_handle(REF, [TableFile(name, make_uid(1), 1, 1)], {}, []))
