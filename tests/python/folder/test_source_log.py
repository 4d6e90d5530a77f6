"""The log of a file source, whose compact entries may be larger than what is read at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snapline.folder.files import LocalFiles
from snapline.folder.source_log import SourceLog, Untold

FOLDER = "sources/0"
NUMBERS = 30


class Pieces(LocalFiles):
    """Keeps place and length of each piece that is read; of a file that is read whole, nothing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read_so_far: list[tuple[int, int]] = []

    def read_at(self, name: str, offset: int, length: int) -> bytes:
        self.read_so_far.append((offset, length))
        return super().read_at(name, offset, length)


def uris_of(number: int) -> list[str]:
    """Characters of several bytes each, so that a piece may end within one."""
    return [f"file:/input/{number}-{name}-äß漢.json" for name in "ab"]


@pytest.fixture
def files(tmp_path: Path) -> Pieces:
    entries = [{"path": uri, "timestamp": 1, "batchId": number} for number in range(NUMBERS) for uri in uris_of(number)]
    lines = ["v1", *(json.dumps(entry, ensure_ascii=False) for entry in entries)]
    return holding(tmp_path, NUMBERS - 1, "\n".join(lines).encode())


def holding(path: Path, newest: int, data: bytes) -> Pieces:
    (path / FOLDER).mkdir(parents=True)
    (path / FOLDER / f"{newest}.compact").write_bytes(data)
    return Pieces(path)


# From pieces in which no line has room to one with all of them.
@pytest.mark.parametrize("piece", [1, 2, 7, 64, 1000, 1 << 20])
def test_a_line_may_lie_in_several_pieces(files: Pieces, piece: int) -> None:
    log = SourceLog(files, FOLDER, piece)
    assert [log.uris(number) for number in range(NUMBERS)] == [uris_of(number) for number in range(NUMBERS)]
    size = files.size(f"{FOLDER}/{NUMBERS - 1}.compact")
    assert files.read_so_far == [(offset, min(piece, size - offset)) for offset in range(0, size, piece)]


def test_lines_before_the_first_number_are_not_kept(files: Pieces) -> None:
    log = SourceLog(files, FOLDER)
    for number in (7, 29, 8, 7, 3, 4):
        assert log.uris(number) == uris_of(number)
    # For 7, and for 3.
    assert len(files.read_so_far) == 2


@pytest.mark.parametrize("data", [b"", b"3\n{}", b"v1\n{", b'v1\n{"batchId":4}', b"v1\n[]", b"v1\n\x80"])
def test_one_that_does_not_tell_is_not_read_again(tmp_path: Path, data: bytes) -> None:
    files = holding(tmp_path, 9, data)
    log = SourceLog(files, FOLDER, 2)
    for number in (4, 5):
        with pytest.raises(Untold, match=r"9\.compact is no entry"):
            log.uris(number)
    assert [offset for offset, _ in files.read_so_far].count(0) == (1 if data else 0)
    with pytest.raises(Untold, match="has no entry 10"):
        log.uris(10)
