from __future__ import annotations

import pytest

from snapline.format.names import Kind, VersionRef, is_plain, parse_name, parse_table_name, uid_millis

from .writer import make_ref, make_uid

UID = "019c0f6e-1234-7abc-8def-0123456789ab"


@pytest.mark.parametrize("kind", [Kind.CHANGELOG, Kind.HANDLE])
def test_name_and_reference_are_one(kind: Kind) -> None:
    ref = VersionRef(12, UID)
    assert parse_name(ref.file_name(kind)) == (ref, kind)


@pytest.mark.parametrize(
    "name",
    [
        "12.changelog",
        "12.zip",
        f"12_{UID}.zip",
        f"12_{UID}.changelog.crc",
        f".12_{UID}.changelog.crc",
        f"12_{UID.upper()}.handle",
        f"-1_{UID}.handle",
        f"1_{UID}.handle\n",
        "12_9d4d13b2-0f43-46a5-a0ce-2aa59e1c7756.changelog",  # Spark's own, checkpoint format 2
    ],
)
def test_names_of_others_are_not_ours(name: str) -> None:
    assert parse_name(name) is None


def test_table_names() -> None:
    assert parse_table_name(f"{UID}.sst") == UID
    assert parse_table_name("000012.sst") is None


def test_uid_carries_its_time() -> None:
    assert uid_millis(make_uid(1_770_000_000_123)) == 1_770_000_000_123


def test_references_sort_by_version_then_attempt() -> None:
    assert sorted([make_ref(10), make_ref(9, 1), make_ref(9)]) == [make_ref(9), make_ref(9, 1), make_ref(10)]


@pytest.mark.parametrize("name", ["CURRENT", "MANIFEST-000005", "OPTIONS-000007", "000012.sst"])
def test_names_of_the_backend_are_plain(name: str) -> None:
    assert is_plain(name)


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a\\b", ".hidden", "x.sst/..", "CURRENT\n"])
def test_names_that_leave_the_folder_are_not(name: str) -> None:
    assert not is_plain(name)
